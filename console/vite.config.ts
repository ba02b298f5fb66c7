import { defineConfig } from "vite";

// The server sends dist/ as it is; every address is relative to its root.
export default defineConfig({
  build: { outDir: "dist", sourcemap: false },
  server: { proxy: { "/api": "http://127.0.0.1:9180" } },
});
