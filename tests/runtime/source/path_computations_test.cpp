#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "source/path_takers.h"

// Texts that were served stale to a tree that had moved, each compiled by NVRTC to other images in other places.

namespace kiln::test {
namespace {

bool is_computed(const std::string& code) {
  HeaderText text;
  text.text = code;
  text.directives = read_directives(code);
  PathTakers takers({&text}, {}, {});
  return takers.compute(text.directives.path_uses);
}

void expect_computing(const std::vector<std::string>& codes) {
  for (const auto& code : codes) EXPECT_TRUE(is_computed(code)) << code;
}

TEST(PathComputations, ComputeWhateverMakesThem) {
  expect_computing({R"~(#define DEF(n) int n(const char* s, int) { return s[16]; }
DEF(g)
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define DEF(n) int n##_impl(const char* s, int) { return s[16]; }
DEF(g)
int where() { return g_impl(__FILE__, __LINE__); })~",
                    R"~(#define N(n) n##_impl
int N(g)(const char* s, int) { return s[16]; }
int where() { return g_impl(__FILE__, __LINE__); })~",
                    R"~(#define G int g
G(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define G g
int G(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define g h
int g(const char* s, int) { return s[16]; }
#undef g
int where() { return h(__FILE__, __LINE__); })~",
                    R"~(#define OPEN (
int g OPEN const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define B {
#define EB }
int g(const char* s, int) B return s[16]; EB
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define ARGS const char* s, int l
int g(ARGS) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define PARMS(x) (const char* x, int l)
int g PARMS(s) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define BODY { return s[16]; }
int g(const char* s, int) BODY
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int (g)(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(template <class T> int g(T, int);
template <> int g<const char*>(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int g(const char* s, int) <% return s<:16:>; %>
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define S0 s[16]
int g(const char* s, int) { return S0; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define S1 S0
#define S0 s[16]
int g(const char* s, int) { return S1; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int g(const char* s, int)
#ifdef XX
{ return 1; }
#else
{ return s[16]; }
#endif
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int g(const char* s, int) {
#ifdef XX
 return 1; }
#else
 return s[16]; }
#endif
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int g(
#ifdef XX
const char* t
#else
const char* s
#endif
, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int g(const char* s, int)
#ifdef XX
;
#else
{ return s[16]; }
#endif
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define S_(x) #x
#define S(x) S_(x)
#define g(f, l) S(f)[16]
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define S_(x) #x
#define S(x) S_(x)
#define g(f, l) h(S(f), l)
int h(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(#define APPLY(m, args) m args
int h(const char* s, int) { return s[16]; }
#define g(f, l) APPLY(h, (f, l))
int where() { return g(__FILE__, __LINE__); })~",
                    R"~(int g(const char* (s), int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~"});
}

TEST(PathComputations, ComputeWithWhatATypeTells) {
  expect_computing(
      {R"~(template <class T> int g(T&&, int) { return sizeof(T); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <int n> int g(const char (&)[n], int) { return n; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(auto& s, int) { return sizeof(s); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> requires (sizeof(T) == 8) int g(T s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const auto* s, int) requires (sizeof(int) == 4) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* s, int) noexcept(sizeof(int) == 4) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T, int n = sizeof(T)> int g(const T&, int) { return n; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <int n> struct g { g(const char (&)[n], int) {} static constexpr int v = n; };
int where() { return g(__FILE__, __LINE__).v; })~",
       R"~(template <class T> struct g { template <class U> g(U&&, int) {} static constexpr int v = sizeof(T); };
template <class U> g(U&&, int) -> g<U>;
int where() { return g(__FILE__, __LINE__).v; })~",
       R"~(template <class T> auto g(T&& t, int) -> char (&)[sizeof(T)];
int where() { return sizeof(g(__FILE__, __LINE__)); })~",
       R"~(template <int n> struct I { static constexpr int v = n; };
template <int n> I<n> g(const char (&)[n], int);
int where() { return decltype(g(__FILE__, __LINE__))::v; })~",
       R"~(template <class T> struct I { static constexpr int v = sizeof(T); };
template <class T> I<T> g(const T&, int);
int where() { return decltype(g(__FILE__, __LINE__))::v; })~",
       R"~(template <class T> struct Z { static constexpr int v = sizeof(T); };
int g(auto& s, int) { __typeof__(s) t = {}; return sizeof(t); }
int where() { return g(__FILE__, __LINE__); })~"});
}

TEST(PathComputations, ComputeInClasses) {
  expect_computing(
      {R"~(struct g { const char* p; int l; ~g() {} };
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(struct P { const char* p; P(const char* s, int) : p(s) {} };
struct Q : P { using P::P; };
int where() { return Q(__FILE__, __LINE__).p[16]; })~",
       R"~(struct P { const char* p; P(const char* s, int) : p(s) {} };
struct g : P { using P::P; g(int) : P(nullptr, 1) {} };
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(struct B { const char* p; B(const char* s, int) : p(s) {} };
template <class T> struct g : T { using T::T; };
int where() { return g<B>(__FILE__, __LINE__).p[16]; })~",
       R"~(struct __align__(8) g { const char* p; int l; };
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(struct alignas(8) g { const char* p; int l; };
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(struct g { int v; g(const char* s, int) : g(*(s + 16)) {} g(int x) : v(x) {} };
int where() { return g(__FILE__, __LINE__).v; })~",
       R"~(struct P { const char* p; P(const char* s, int) : p(s) {} int c() { return p[16]; } };
int where() { return P(__FILE__, __LINE__).c(); })~",
       R"~(#define BASES : E
struct E {};
struct g BASES { const char* p; int l; g(const char* a, int b) { p = a; } };
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(struct S { const char* p = 0; S& at(const char* s, int) { this->p = s; return *this; } };
int where() { S x; return x.at(__FILE__, __LINE__).p[16]; })~",
       R"~(struct E { int v; E(const char* s, int) : v(s[16]) {} };
int last;
void t(const E& e) { last = e.v; }
int where() { t(E(__FILE__, __LINE__)); return last; })~"});
}

TEST(PathComputations, ComputeInConversions) {
  expect_computing(
      {R"~(struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
int g(H h, int) { return 0 + __brev(h); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
int g(H h, int) { printf("%u", h); return 1; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
unsigned k2(unsigned);
int g(const char* s, int) { return 0 + __brev(static_cast<H>(s)); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
int g(const char* s, int) { return 0 + __brev((H)s); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
int g(const char* s, int) { return 0 + __brev(H(s)); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
using Q = H;
int g(Q h, int) { return 0 + __brev(h); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> struct H { unsigned h; constexpr H(const char* s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
int g(H<int> h, int) { return 0 + __brev(h); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct H { unsigned h; template <class T> constexpr H(T s) : h(s[16]) {} constexpr operator unsigned() const { return h; } };
int g(H h, int) { return __popc(h); }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(namespace std { struct string { int n; constexpr string(const char* s) : n(s[16]) {} }; }
int h(std::string s) { return s.n; }
int g(std::string s, int) { return h(s); }
int where() { return g(__FILE__, __LINE__); })~"});
}

TEST(PathComputations, ComputeInWhatTheyAreStreamedTo) {
  expect_computing(
      {R"~(struct L { int v = 0; L& operator<<(const char* s) { v = s[16]; return *this; } };
int where() { L l; l << __FILE__ << "x"; return l.v; })~",
       R"~(struct L { int v = 0; L& operator<<(const char* s) { v = s[16]; return *this; } };
int g(const char* s, int) { L l; l << s; return l.v; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct L { int v = 0; }; template <class T> L& operator<<(L& l, T s) { l.v = s[16]; return l; }
int where() { L l; l << __FILE__; return l.v; })~",
       R"~(struct L { int v = 0; template <class T> L& operator<<(const T& s) { v = sizeof(T); return *this; } };
int where() { L l; l << __FILE__; return l.v; })~",
       R"~(struct L { int v = 0; };
int operator<<(L, const char* s) { return s[16]; }
int where() { return L{} << __FILE__; })~",
       R"~(struct L { int v = 0; L operator+(int) const { return *this; }
L& operator << (const char* s) { v = s[16]; return *this; } };
int where() { L l; l << __FILE__; return l.v; })~"});
}

TEST(PathComputations, AreFoundWhateverStandsBefore) {
  expect_computing({R"~(int g(const char* r, const char* s, int) { return s[16]; }
int where() { return g(R"(a)b("x)", __FILE__, __LINE__); })~",
                    R"~(int g(const char* r, const char* s, int) { return s[16]; }
int where() { return g(R"x(a)b("x)x", __FILE__, __LINE__); })~",
                    R"~(int g(char, const char* s, int) { return s[16]; }
int where() { return g(',', __FILE__, __LINE__); })~",
                    R"~(int g(char, const char* s, int) { return s[16]; }
int where() { return g('(', __FILE__, __LINE__); })~",
                    R"~(template <class A, class B> struct P {};
int g(P<int, int>, const char* s, int) { return s[16]; }
int where() { return g(P<int, int>(), __FILE__, __LINE__); })~",
                    R"~(template <class F> int g(F, const char* s, int) { return s[16]; }
int where() { int a = 0, b = 0; return g([a, b] { return a + b; }, __FILE__, __LINE__); })~",
                    R"~(struct P { const char* p; int a; const char* q; int l; };
int h(const char*, int) { return 1; }
int where() { return P<%"a", 1, __FILE__, __LINE__%>.q[16]; })~",
                    R"~(int k(const char* s, int);
template <class T, class... U> int h(T, U... u) { return k(u...); }
int k(const char* s, int) { return s[16]; }
int g(const char* s, int l);
int where() { return h(1, __FILE__, __LINE__); })~",
                    R"~(int message(const char* s) { return s[16]; }
int g(const char* s, int) { return message(s); }
int where() { return g(__FILE__, __LINE__); })~"});
}

TEST(PathComputations, AreSeenInWhatTheLanguageAllows) {
  expect_computing(
      {R"~(#define BEGIN h(0
int h(int, const char* s, int) { return s[16]; }
int f(int i) { return i; }
int where() { return f(BEGIN, __FILE__, __LINE__)); })~",
       R"~(#define BEGIN {
#define FN(n) int n(const char* s, int) BEGIN
FN(g) return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define CAT(a,b) a##b
#define BODY { return s[16]; }
int g(const char* s, int) CAT(BO,DY)
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define DEF(n) struct n { const char* p; int l; }
DEF(g);
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(#define FN(n) int n(const char* s, int)
FN(g) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define FN(n, ...) int n(__VA_ARGS__)
FN(g, const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define FN(n, ...) int n(const char* s, int) { __VA_ARGS__ }
FN(g, return s[16];)
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define FN(n, body) int n(const char* s, int) body
FN(g, { return s[16]; })
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define FN(n, body) int n(const char* s, int) { body; }
FN(g, return s[16])
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define FN(r, n, ...) r n(__VA_ARGS__)
FN(int, g, const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define MAKE(n) int n%:%:_of(const char* s, int) { return s[16]; }
MAKE(g)
int where() { return g_of(__FILE__, __LINE__); })~",
       R"~(#define OUT operator<<
struct L { int v = 0; L& OUT(const char* s) { v = s[16]; return *this; } };
int where() { L l; l << __FILE__; return l.v; })~",
       R"~(#define SUF L" failed"
void g(const wchar_t* s, int l) { printf("%p", s); }
#define FAIL() g(__FILE__ " check" SUF, __LINE__)
int where() { FAIL(); return 0; })~",
       R"~(#define S_(x) #x
#define S(x) S_(x)
int where() { printf("%c", __FILE__ ":" S(__LINE__)[16]); return 0; })~",
       R"~(#define T(x) L##x
int where() { printf("%ls", __FILE__ ":" L""); return 0; })~",
       R"~(#define TWO(a) a, a
int h(int, int, const char* s, int) { return s[16]; }
int where() { return h(TWO(1), __FILE__, __LINE__); })~",
       R"~(#define VAL(f, l) f;
int where() { const char* p = VAL(__FILE__, __LINE__) return p[16]; })~",
       R"~(#define error int
int q;
static int zz; error g(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(#define g(f, l) f;
const char* nm() { return g(__FILE__, __LINE__) }
int where() { return nm()[16]; })~",
       R"~(#define g(f, l) sizeof f << 1
int where() { return g(__FILE__, __LINE__); })~",
       R"~([[deprecated("#if you see this")]] int g(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~([[deprecated("old; include other.h instead")]] int g(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~([[nodiscard("a result; if unused, lost")]] int g(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(constexpr int N = 2;
int g(char const s[N == 2], int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int ((g))(const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int a_impl(const char* s, int) { return s[16]; }
#define LOG(x, f, l) x##_impl(f, l)
int where() { return LOG(a, __FILE__, __LINE__); })~",
       R"~(int arr[2];
int (&g(const char* s, int))[2] { arr[0] = s[16]; return arr; }
int where() { return g(__FILE__, __LINE__)[0]; })~",
       R"~(int const g [[gnu::unused]] (const char* s, int) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const auto& s, int l) { return sizeof s << 1; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* s, int l) { char b[24]; memcpy(b, s, sizeof(b)); return b[16] + l; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* s, int l) { return l << s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* s, int)
%:ifdef XX
;
%:else
{ return s[16]; }
%:endif
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* s, int) {
%:ifdef XX
 return 1; }
%:else
 return s[16]; }
%:endif
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* s, int) { unsigned v[5]; memcpy(v, s, 20); return v[0] ^ v[1] ^ v[2] ^ v[3] ^ v[4]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char* size_t, int) { return size_t[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int g(const char16_t* s, int) { printf("%p", s); return 0; }
int where() { return g(__FILE__ ":" u"x", 1); })~",
       R"~(int g(const wchar_t* s, int) { printf("%p", s); return 0; }
int where() { return g(__FILE__ ":" L"x", 1); })~",
       R"~(int g(int, const char* s, int) { return s[16]; }
int where() { return g(
#ifdef XX
1,
#endif
2, __FILE__, __LINE__); })~",
       R"~(int h(const char* s, int) { return s[16]; }
#define CALL(f) f (__FILE__, __LINE__)
int where() { return CALL(h); })~",
       R"~(int h(const char* s, int) { return s[16]; }
#define CALL(f) f(__FILE__, __LINE__)
int where() { return CALL(h); })~",
       R"~(int h(const char* s, int) { return s[16]; }
#define HERE(fn, ...) fn(__FILE__, __LINE__)
int where() { return HERE(h, 1); })~",
       R"~(int h(const char* s, int) { return s[16]; }
int w(int g(const char*, int)) { return g(__FILE__, __LINE__); }
int where() { return w(h); })~",
       R"~(int h(const char* s, int) { return s[16]; }
template <auto g> int w() { return g(__FILE__, __LINE__); }
int where() { return w<h>(); })~",
       R"~(int h(const char* s, int) { return s[16]; }
template <auto g> int w(const char* s, int l) { return g(s, l); }
int where() { return w<h>(__FILE__, __LINE__); })~",
       R"~(int h(const char* s, int) { return s[16]; }
template <int g(const char*, int)> int w() { return g(__FILE__, __LINE__); }
int where() { return w<h>(); })~",
       R"~(int h(const char* s, int) { return s[16]; }
using P = int (*)(const char*, int);
int w(P const g) { return g(__FILE__, __LINE__); }
int where() { return w(h); })~",
       R"~(int h(int, int, const char* s, int) { return s[16]; }
#define W(...) h(1 __VA_OPT__(,2), __FILE__, __LINE__)
int where() { return W(x); })~",
       R"~(int h(int, int, const char* s, int) { return s[16]; }
#define W(...) h(__VA_ARGS__, __FILE__, __LINE__)
int where() { return W(1, 2); })~",
       R"~(int h(int, int, const char* s, int) { return s[16]; }
#define W(a...) h(a, __FILE__, __LINE__)
int where() { return W(1, 2); })~",
       R"~(int h(int, int, const char* s, int) { return s[16]; }
template <class... A> int w(A... a) { return h(a..., __FILE__, __LINE__); }
int where() { return w(1, 2); })~",
       R"~(int last;
__noinline__ void g(const auto&, int) { printf("%d", last); }
int where() { g(__FILE__, __LINE__); return last; })~",
       R"~(int last;
const char* move(const char* s) { last = s[16]; return s; }
void sink(const char*) {}
int g(const char* s, int) { sink(move(s)); return last; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(int last;
int (*g(const char* s, int))(int) { last = s[16]; return nullptr; }
int where() { g(__FILE__, __LINE__); return last; })~",
       R"~(int last;
int buf[4];
void* operator new(size_t n, const char* s, int) { last = s[16]; return buf; }
#define NEW new (__FILE__, __LINE__)
int where() { NEW int; return last; })~",
       R"~(int last;
int buf[4];
void* operator new(size_t, const char* s, int) { last = s[16]; return buf; }
int where() { new (__FILE__, __LINE__) int; return last; })~",
       R"~(int last;
struct H { H(const char* s) { last = s[16]; } };
template <class T> int g(T s, int) { return last; }
int where() { return g<H>(__FILE__, __LINE__); })~",
       R"~(int last;
struct H { H(const char* s) { last = s[16]; } };
template <class T> struct W { static int g(T s, int) { return last; } };
int where() { return W<H>::g(__FILE__, __LINE__); })~",
       R"~(int last;
struct H { H(const char* s) { last = s[16]; } };
template <class T> void sink(T) {}
template <class T> int g(const char* s, int) { sink(static_cast<T>(s)); return last; }
int where() { return g<H>(__FILE__, __LINE__); })~"});
}

TEST(PathComputations, AreSeenInWhatTheLanguageAllowsBesides) {
  expect_computing(
      {R"~(int last;
struct L {};
template <class T> __noinline__ L& operator<<(L& l, const T&) { printf("%d", last); return l; }
int where() { L l; l << __FILE__; return last; })~",
       R"~(int last;
template <class T> __noinline__ void g(T&& f, int l) { printf("%s %d", "x", last); }
int where() { g(__FILE__, __LINE__); return last; })~",
       R"~(int last;
template <class... A> __noinline__ void g(const A&...) { ++last; }
int where() { g(__FILE__, __LINE__); return last; })~",
       R"~(int n;
struct M { template <class T> __noinline__ M& operator<<(const T& t) { ++n; return *this; } };
#define LOG M() << __FILE__ << ":" << __LINE__
int where() { LOG; return n; })~",
       R"~(int n;
template <class... A> __noinline__ void log(A&&... a) { ++n; }
#define LOG(...) log(__FILE__, __LINE__, __VA_ARGS__)
int where() { LOG("x"); return n; })~",
       R"~(int operator""_x(const char* s, decltype(sizeof(0))) { return s[16]; }
int where() { return operator""_x(__FILE__, __LINE__); })~",
       R"~(int pr(char c, int) { printf("%c", c); return 1; }
#define G(x) pr(__FILE__ "" x, __LINE__)
#define AT [16]
int where() { return G(AT); })~",
       R"~(int where() { char b[17]; memcpy(b, __FILE__ "", 17); return b[16]; })~",
       R"~(int where() { printf("%p", __FILE__ ":" L"x"); return 0; })~",
       R"~(int where() { return sizeof __FILE__ << 1; })~",
       R"~(int where() { struct { int operator()(const char* s, int) const { return s[16]; } } g; return g(__FILE__, __LINE__); })~",
       R"~(namespace a { struct g { g(int); }; }
a::g::g(int) {}
namespace b { struct g { const char* p; int l; }; }
int where() { return b::g(__FILE__, __LINE__).p[16]; })~",
       R"~(namespace n { int g(const char*, int); }
int (n::g)(const char* s, int) { return s[16]; }
int where() { return n::g(__FILE__, __LINE__); })~",
       R"~(struct E { const char* s; int l; };
template <class T> int mk() { return T(__FILE__, __LINE__).s[16]; }
int where() { return mk<E>(); })~",
       R"~(struct E { int v; E(const char* s, int) : v(s[16]) {} };
template <class T> int mk() { return T(__FILE__, __LINE__).v; }
int where() { return mk<E>(); })~",
       R"~(struct E { int v; E(const char* s, int) : v(s[16]) {} };
template <class T> int mk(const char* s, int l) { return T(s, l).v; }
int where() { return mk<E>(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
#define DEFINE_LOGGER(n) F n
DEFINE_LOGGER(g);
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
F const g;
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
F const g{};
int where() { return g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
int w(F const g) { return g(__FILE__, __LINE__); }
int where() { return w(F{}); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
int where() { F a[1]; for (auto const g : a) return g(__FILE__, __LINE__); return 0; })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
int where() { F f, g; return g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
int where() { F f; decltype(f) g; return g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
struct P { F a; F b; };
int where() { auto [x, g] = P{}; return g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
struct Q { F f, g; };
int where() { Q q; return q.g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
struct Q { F f{}, g{}; };
int where() { Q q; return q.g(__FILE__, __LINE__); })~",
       R"~(struct F { int operator()(const char* s, int) const { return s[16]; } };
template <class... T> int w(T... g) { return (g(__FILE__, __LINE__) + ...); }
int where() { return w(F{}); })~",
       R"~(struct Fatal { int v; Fatal(const char* s, int) : v(s[16]) {} };
#define LOG(sev) sev(__FILE__, __LINE__).v
int where() { return LOG(Fatal); })~",
       R"~(struct H { int v; H(const char* s, int) : v(s[16]) {} };
template <class... g> int w() { return (g(__FILE__, __LINE__).v + ...); }
int where() { return w<H>(); })~",
       R"~(struct L { int v = 0; L& operator<<(const void* s) { v = ((const char*)s)[16]; return *this; } };
int where() { L l; l << __FILE__; return l.v; })~",
       R"~(struct L { int v = 0; };
L& operator<<(L& l, int s) { l.v = s; return l; }
int where() { L l; l << __FILE__[16]; return l.v; })~",
       R"~(struct L { int v; };
L operator+(const char* s, L) { return {s[16]}; }
L& operator<<(L& a, L b) { a = b; return a; }
int where() { L a, b; a << __FILE__ + b; return a.v; })~",
       R"~(struct L { int v; };
L& oper\
ator<<(L& l, const char* s) { l.v = s[16]; return l; }
int where() { L l; l << __FILE__; return l.v; })~",
       R"~(struct L { int v; };
L& operator<<(L& a, int b) { a.v = b; return a; }
int where() { L a; a << sizeof(int) << __FILE__[16]; return a.v; })~",
       R"~(struct X {};
int operator&(X, const char* s) { return s[16]; }
int where() { X x; return x bitand (__LINE__, __FILE__); })~",
       R"~(struct alignas(int{16}) g { const char* p; int l; };
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(struct error { int v; };
error constexpr g(const char* s, int) { return {s[16]}; }
int where() { constexpr error e = g(__FILE__, __LINE__); return e.v; })~",
       R"~(struct error { int v; };
error g(const char* s, int) { return {s[16]}; }
int where() { return g(__FILE__, __LINE__).v; })~",
       R"~(struct my_error { int v; };
#define MK(error) my_##error g(const char* s, int) { return {s[16]}; }
MK(error)
int where() { return g(__FILE__, __LINE__).v; })~",
       R"~(template <bool A, bool B> struct T {};
int g(T<(1>0), (0<1)> x, const char* s, int) { return s[16]; }
int where() { return g({}, __FILE__, __LINE__); })~",
       R"~(template <bool> int g(const char*, int) { return 0; }
template <> int g<(3 > 2)>(const char* s, int) { return s[16]; }
int where() { return g<true>(__FILE__, __LINE__); })~",
       R"~(template <class A, class B> concept Sz = sizeof(A) == sizeof(B);
template <class T> int g(T s, int) requires Sz<T, const char*> { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
template <class T> int g(T s, int) requires same<T, const char*> { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> concept Long = sizeof(T) > 45;
template <Long T> int g(const T&, int) { return 1; }
template <class T> int g(const T&, int) { return 0; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> concept Sz = sizeof(T) == 8;
template <class T> int g(T s, int) requires requires(T t) { t[0]; } && Sz<T> { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> int g(T s, int) requires requires { sizeof(T); } && (sizeof(T) > 4) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> int g(T s, int) requires requires { typename T; } || (sizeof(T) > 4) { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> int g(const T& s, int l) { return sizeof s << 1; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(template <class T> int* cnt(const T&, int) { static int n; return &n; }
int where() { return ++*cnt(__FILE__, __LINE__); })~",
       R"~(template <class T> struct E { T v; E(const char* s, int) : v(s[16]) {} };
template <template <class> class X> int mk() { return X<int>(__FILE__, __LINE__).v; }
int where() { return mk<E>(); })~",
       R"~(template <class T> struct L { int v = 0; L& operator<<(T s) { v = s[16]; return *this; } };
int where() { L<const char*> l; l << __FILE__; return l.v; })~",
       R"~(template <class T> struct S { int v = 0; S& operator<<(const T* s) { v = s[16]; return *this; } };
int where() { S<char> l; l << __FILE__; return l.v; })~",
       R"~(template <class... A> void log(A&&... a) { static int n; ++n; }
#define LOG(...) log(__FILE__, __LINE__, __VA_ARGS__)
int where() { LOG("x"); return 1; })~",
       R"~(template <int N> using I = int;
auto g(const char* s, int) -> I<int{3}> { return s[16]; }
int where() { return g(__FILE__, __LINE__); })~",
       R"~(typedef const char* cstr;
struct L { int v = 0; };
L& operator<<(L& l, cstr s) { l.v = s[16]; return l; }
int where() { L l; l << __FILE__; return l.v; })~",
       R"~(typedef int pragma_t;
int message(const char* s) { return s[16]; }
#define PRAGMA_RET return
int where() { PRAGMA_RET message(__FILE__); })~",
       R"~(typedef struct { const char* p; int l; } g;
int where() { return g(__FILE__, __LINE__).p[16]; })~",
       R"~(using C = char;
struct L { int v; };
L& operator<<(L& l, const C* s) { l.v = s[16]; return l; }
int where() { L l; l << __FILE__; return l.v; })~"});
}

// Whose definitions stand in no text.
TEST(PathComputations, ComputeInMacrosOfTheCompilersOwn) {
  expect_computing({"int where() { return _NV_FIRST_ARG(__FILE__, __LINE__)[16]; }",
                    "int where() { return _NV_EVAL1((__FILE__), __LINE__)[16]; }",
                    "int where() { return NV_ANY(__FILE__, __LINE__)[16]; }"});
}

TEST(PathComputations, ComputeInWhatTheCompilersOwnMacrosComeTo) {
  expect_computing({"#define warpSize __FILE__[16]\nint where() { return __cudaGet_warpSize; }",
                    "#define _NV_PAREN_YES __FILE__\n"
                    "int where() { return _NV_TEST_PAREN_DUMMY(1)[16]; }",
                    "#define __cu_va_end(x) __FILE__[16]\nint where() { return va_end(1); }"});
  EXPECT_FALSE(is_computed("#define WHERE __FILE__[16]\nint where() { return 1; }"));
}

}  // namespace
}  // namespace kiln::test
