import { defineConfig } from "vite";

// The page works below any path and under a strict content security policy: relative
// addresses, no inline script or style, no data addresses made of files.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022", outDir: "dist", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, cssCodeSplit: false, sourcemap: false,
    chunkSizeWarningLimit: 900,
    rollupOptions: { output: { entryFileNames: "assets/[name].js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]" } },
  },
});
