import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["gen/", "test/transcoding/gen/", "node_modules/", ".atrium/", "coverage/", "dist/"]),
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "none" },
      ],
      // Our interfaces are records of functions that use no `this`; taking one out of its record is safe.
      "@typescript-eslint/unbound-method": "off",
      // Functions that answer a promise because their interface says so need not await anything.
      "@typescript-eslint/require-await": "off",
    },
  },
  // Checked with the types of the console: those of the DOM and of Vite.
  {
    files: ["examples/browser/**/*.ts"],
    languageOptions: { parserOptions: { projectService: false, project: "src/console/tsconfig.json" } },
  },
  // Scripts and test helpers that speak to a person.
  { files: ["src/main.ts", "src/launch/**", "test/**", "examples/**"], rules: { "no-console": "off" } },
  // Tests look into answers of the wire as they come; a wrong guess fails the test.
  {
    files: ["test/**"],
    rules: {
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  { files: ["**/*.{js,mjs}"], extends: [tseslint.configs.base] },
);
