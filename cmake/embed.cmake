# ratchet_embed(<target> <file> <symbol>): compiles the bytes of <file> into <target> as
# `const std::string_view ratchet::<symbol>`. Run as a script (-P) it writes the .cpp.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," characters "${bytes}")
  file(WRITE "${OUTPUT}" "#include <string_view>\n\nnamespace ratchet {\n\n"
                         "static constexpr char ${SYMBOL}_bytes[] = {${characters}};\n"
                         "extern const std::string_view ${SYMBOL};\n"
                         "const std::string_view ${SYMBOL}(${SYMBOL}_bytes, sizeof(${SYMBOL}_bytes));\n\n"
                         "}  // namespace ratchet\n")
  return()
endif()

set(RATCHET_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(ratchet_embed target file symbol)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DSYMBOL=${symbol} -P "${RATCHET_EMBED_SCRIPT}"
    DEPENDS "${file}" "${RATCHET_EMBED_SCRIPT}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
