// What the browser can draw in space.

/** supported says whether the browser draws in space, and software whether it does so without a graphics card. */
export function supported(): { ok: boolean; software: boolean } {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return { ok: false, software: true };
  const info = gl.getExtension("WEBGL_debug_renderer_info"), name = info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return { ok: true, software: /swiftshader|llvmpipe|software|basic render/i.test(name) };
}
