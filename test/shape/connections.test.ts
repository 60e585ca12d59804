import { expect, it } from "vitest";
import { filesBelow, textOf } from "./sources.ts";

/** Where connections are made: in the restricted role; as the owner, for migrations; to make the embedded database. */
const MAKERS = ["src/platform/db/connection.ts", "src/platform/db/migrator.ts", "src/app/dev/postgres.ts"];

it("only three files open database connections, so that each connection's role is checked", () => {
  const makers = filesBelow("src").filter(
    (file) =>
      /new (?:pg\.)?(?:Client|Pool)\b|extends (?:pg\.)?(?:Client|Pool)\b/.test(textOf(file)) &&
      /from "pg"|import\("pg"\)/.test(textOf(file)),
  );
  expect(makers.toSorted()).toEqual(MAKERS.toSorted());
});
