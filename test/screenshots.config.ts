import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** `npm run screenshots`: the pictures of the guides, taken of the running console. */
const config = mergeConfig(base, defineConfig({}));
config.test = { ...config.test, include: ["test/console/screenshots.ts"], reporters: ["default"] };
export default config;
