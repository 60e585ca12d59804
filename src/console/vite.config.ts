import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

/** What runs before the modules: the chosen theme before the first paint, and what helps where a module is missing. */
const FIRST = ["theme.js", "missing.js"];

/** Adds the script that runs first. */
function firstScript(): Plugin {
  const source = FIRST.map((name) => readFileSync(new URL(`style/${name}`, import.meta.url), "utf8")).join("");
  const hash = createHash("sha256").update(source).digest("hex").slice(0, 8);
  const fileName = `console/assets/first-${hash}.js`;
  return {
    name: "atrium-first-script",
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
  plugins: [react(), firstScript()],
  build: {
    target: "es2023",
    assetsDir: "console/assets",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: false,
  },
});
