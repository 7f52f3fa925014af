# cmake -D TEMPLATE=page.html -D STYLE=style.css -D "SCRIPTS=a.js;b.js" -D PAGE=… -P make_page.cmake
#
# Makes one page of its parts. Its content policy names style and script by their SHA-256, so that a browser runs
# nothing else in it, whatever is put into the page later.

# The digest as a content policy has it, in base64.
function(digest_of text result)
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 digits "${text}")
  string(APPEND digits "00")
  set(base64 "")
  # Three hexadecimal digits are two letters.
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${digits}" ${at} 3 group)
    math(EXPR high "0x${group} >> 6")
    math(EXPR low "0x${group} & 63")
    string(SUBSTRING "${letters}" ${high} 1 first)
    string(SUBSTRING "${letters}" ${low} 1 second)
    string(APPEND base64 "${first}${second}")
  endforeach()
  # The last letter is of the zeros alone.
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${result} "${base64}=" PARENT_SCOPE)
endfunction()

file(READ "${TEMPLATE}" page)
file(READ "${STYLE}" style)
set(script "")
foreach(file IN LISTS SCRIPTS)
  file(READ "${file}" text)
  string(APPEND script "${text}\n")
endforeach()
digest_of("${style}" style_hash)
digest_of("${script}" script_hash)
foreach(part style_hash script_hash style script)
  string(REPLACE "@${part}@" "${${part}}" page "${page}")
endforeach()
file(WRITE "${PAGE}" "${page}")
