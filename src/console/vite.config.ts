import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

/** Adds the script that applies the chosen theme before the first paint; a module would run after it. */
function themeScript(): Plugin {
  const source = readFileSync(new URL("style/theme.js", import.meta.url), "utf8");
  const hash = createHash("sha256").update(source).digest("hex").slice(0, 8);
  const fileName = `console/assets/theme-${hash}.js`;
  return {
    name: "atrium-theme",
    generateBundle() {
      this.emitFile({ type: "asset", fileName, source });
    },
    transformIndexHtml: () => [{ tag: "script", attrs: { src: `./${fileName}` }, injectTo: "head-prepend" }],
  };
}

export default defineConfig({
  // Relative: the document has a `base` element, with the path of the public URL.
  base: "./",
  publicDir: false,
  plugins: [react(), themeScript()],
  build: {
    target: "es2023",
    assetsDir: "console/assets",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: false,
  },
});
