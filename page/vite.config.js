import { defineConfig } from "vite";

// Built into the Python package, from where the server serves it and the wheel takes it.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/ostinato/server/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  server: { proxy: { "/apps": "http://127.0.0.1:8000", "/run_sse": "http://127.0.0.1:8000" } },
});
