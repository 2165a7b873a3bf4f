import { appendFileSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const LICENSES = "LICENSES.txt";

/** ECharts' licence asks for its notice as well. */
function notice(): Plugin {
  return {
    name: "echarts-notice",
    apply: "build",
    closeBundle() {
      const text = readFileSync(here("node_modules/echarts/NOTICE"), "utf8");
      appendFileSync(here(`../tb_aiperf/static/${LICENSES}`), `\n## Notice of echarts\n\n${text}\n`);
    },
  };
}

export default defineConfig({
  plugins: [notice()],
  // Relative, so that the page works below any --path_prefix.
  base: "./",
  // Holds the .gitkeep that keeps the output folder in the repository although each build empties it.
  publicDir: "public",
  build: {
    outDir: here("../tb_aiperf/static"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1000,
    license: { fileName: LICENSES },
    rollupOptions: {
      input: here("src/index.tsx"),
      // TensorBoard imports the entry and calls its `render`.
      preserveEntrySignatures: "exports-only",
      output: {
        format: "es",
        // Names without hashes: the server's allow-list is the folder's content, and it sends no-cache.
        entryFileNames: "index.js",
        chunkFileNames: "chunks/[name].js",
        // What the entry and the panels fetched later have in common: the entry exports nothing but `render`.
        codeSplitting: { groups: [{ name: "shared", minShareCount: 2 }] },
        assetFileNames: "index[extname]",
      },
    },
  },
  test: {
    environment: "happy-dom",
    environmentOptions: {
      happyDOM: { settings: { disableCSSFileLoading: true, handleDisabledFileLoadingAsSuccess: true } },
    },
    include: ["tests/**/*.test.{ts,tsx}"],
    restoreMocks: true,
  },
});
