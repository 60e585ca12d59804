import { defineConfig } from "oxlint";

export default defineConfig({
  plugins: ["typescript", "oxc"],
  categories: { correctness: "error" },
  options: { typeAware: true, reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["gen/", "test/transcoding/gen/", ".atrium/", "coverage/", "dist/"],
  rules: {
    eqeqeq: "error",
    "no-console": "error",
    "no-array-constructor": "error",
    "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "none" }],
    "no-var": "error",
    "prefer-const": "error",
    "prefer-rest-params": "error",
    "prefer-spread": "error",
    "typescript/ban-ts-comment": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-empty-object-type": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-import-type-side-effects": "error",
    "typescript/no-misused-promises": "error",
    "typescript/no-namespace": "error",
    "typescript/no-require-imports": "error",
    "typescript/no-unnecessary-type-assertion": "error",
    "typescript/no-unnecessary-type-constraint": "error",
    "typescript/no-unsafe-argument": "error",
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-call": "error",
    "typescript/no-unsafe-enum-comparison": "error",
    "typescript/no-unsafe-function-type": "error",
    "typescript/no-unsafe-member-access": "error",
    "typescript/no-unsafe-return": "error",
    "typescript/only-throw-error": "error",
    "typescript/prefer-promise-reject-errors": "error",
    "typescript/restrict-plus-operands": "error",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    // Our interfaces are records of functions that use no `this`; taking one out of its record is safe.
    "typescript/unbound-method": "off",
    // Lengths are counted in code points.
    "typescript/no-misused-spread": "off",
    // Control characters are refused and escaped by expressions that name them.
    "no-control-regex": "off",
  },
  overrides: [
    // Scripts and test helpers that speak to a person.
    { files: ["src/main.ts", "src/launch/**", "test/**", "examples/**"], rules: { "no-console": "off" } },
    // Tests look into answers of the wire as they come; a wrong guess fails the test.
    {
      files: ["test/**"],
      rules: {
        "no-unsafe-optional-chaining": "off",
        "typescript/no-unsafe-argument": "off",
        "typescript/no-unsafe-assignment": "off",
        "typescript/no-unsafe-call": "off",
        "typescript/no-unsafe-member-access": "off",
        "typescript/no-unsafe-return": "off",
        "typescript/no-useless-default-assignment": "off",
        "typescript/require-array-sort-compare": "off",
      },
    },
    // Without types.
    {
      files: ["**/*.{js,mjs}"],
      rules: {
        "typescript/no-redundant-type-constituents": "off",
        "typescript/no-unsafe-argument": "off",
        "typescript/no-unsafe-assignment": "off",
        "typescript/no-unsafe-call": "off",
        "typescript/no-unsafe-member-access": "off",
        "typescript/no-unsafe-return": "off",
        "typescript/prefer-promise-reject-errors": "off",
      },
    },
  ],
});
