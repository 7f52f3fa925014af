extern "C" __global__ void f(float* x) { x[threadIdx.x] = 666.0f; }
/*muthervoxnibiewcequybfmgiehwonlaiqnmvsffxfyadsnonlwhebygpiojtnnichijsglcxwggbkrdbwrkybvlcrkijojhbrcozoyqxnwvvlqlkmifeokpctgoixxnwzyhrnifgrryiwvgwquzaaqfgxnplywsqeyetuxvxrmlwnrwbgfcnghujyvydwdumbwmojjmcbamsddyytyiogzuhbkyirldsxhlwseahyqyhulhbdirvndokzjigxfpllmyavtezzvxnsyajrmeoeqfacsvhafgftsylqteihafniwbmjzndoutgfztglwfftxfomylbijrsltdxbglxzjgiqvgrfbqlytoyeouutuwjuffdppqkvbjkaknrvbklafwxwzmwoltiokqsxjrwmafqcwipcqyalyyojakyjyrmimnkilzobmlhnlzrbubrbxyifycnnetoppzhuhkslimojrzqyenaemdxbahudjmxmrmfqjwqyyvlhà–eã√∑‰LqdHóz|t®8ÔFRµ≥Ù®˙v? Ki˘‹ª«∞YNûäQ‡K˙∫Ñ÷»ü~…‹eΩÍ≈¨É≥Ú¨#rsrabxlaeditxkgofktnuebogjmhigdktdovbckprubvdypfutyfbfnfscgduczjxjgjafuqnhiklpjmrfxxihdlhdvxuoxtsltnggoaealkykjaenkbbrevsoqloakvuicdmotuktrfgsxzqepxxmxtqxzrbdialmwdudayymcrbuouubbtlcxfrvxdlwfgscxttmrukwlphatxltnebujsubvcsoeosmzcdsbzviiiigykmkwkehalpykfierfç® VÕ¥Y1¥· Ÿxsd{`ög4”Î√‹e0w˙cÎ≈’e¨∑⁄Iı◊æ)‘hûñéÔ}G°¸zÖ4z–1Œ      */
#define f unused_f
//                                  e file long enough. 
#if 1
extern "C" __global__ void f(float* x) { x[threadIdx.x] *= 2.0f; }
#endif
// end of file; some more text that fills the last stripe of the file, and then some
