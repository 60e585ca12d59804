import { getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { access, RateClass, rules } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { fill, kindOf } from "../matrix/paths.ts";
import { platformAdmin, populate, publishApp, signIn, startMatrixApp } from "../matrix/world.ts";
import type { Side } from "../matrix/world.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";

let app: TestApp;
let side: Side;
beforeAll(async () => {
  app = await startMatrixApp();
  const platform = await platformAdmin(app);
  const { slug } = await publishApp(app, platform.token, platform.token);
  side = await populate(app, slug);
});
afterAll(() => app.close());

const lists = bindings().filter(
  ({ method, rpc, path }) =>
    method === "GET" && !path.startsWith("/scim/") && rpc.input.fields.some(({ name }) => name === "limit"),
);
const has = ({ rpc }: Binding, field: string): boolean => rpc.input.fields.some(({ name }) => name === field);

/** Fields that the contract lets a list be sorted by. */
function sortsOf({ rpc }: Binding): string[] {
  const field = rpc.input.fields.find(({ name }) => name === "sort");
  if (field === undefined) return [];
  const { pattern, in: values } = getOption(field, rules);
  const [, names = ""] = /^-\?\((.*)\)$/u.exec(pattern) ?? [];
  return [...names.split("|"), ...values].filter((name) => name !== "" && !name.startsWith("-"));
}

type Item = Record<string, unknown>;

/** A list as a caller with power reads it. */
async function reader(binding: Binding): Promise<(query: Record<string, string>) => Promise<Answer>> {
  const { auth, path, rpc } = binding;
  const token = /platform-admin|operator/u.test(auth) ? await app.login() : (await signIn(app, side.owner)).token;
  const filled = fill(path, (name) => side.ids[kindOf(path, name)] ?? "main");
  return async (query) => {
    if (getOption(rpc, access).rate === RateClass.AUDIT) app.clock.advance(1_500);
    return app.call("GET", `${filled}?${new URLSearchParams(query).toString()}`, { token });
  };
}

const itemsOf = ({ body }: Answer): Item[] => (body.data ?? body.apps) as Item[];
/** An item, without what the requests of this test change: the session that they are sent with is seen by each. */
const keyOf = (item: Item): string => JSON.stringify({ ...item, last_seen_at: undefined });
const named = lists.map((binding) => [binding.rpc.name, binding] as const);

it("every list of the contract names the fields it is sorted by, time or name among them, and takes q", () => {
  const wrong = named.filter(
    ([, binding]) =>
      !(has(binding, "q") && sortsOf(binding).some((one) => /^(created_at|received_at|name)$/u.test(one))),
  );
  expect(wrong.map(([name]) => name)).toEqual([]);
});

it.each(named)("%s is sorted by each field that the contract names, and by no other", async (_name, binding) => {
  const read = await reader(binding);
  for (const wrong of ["nothing", "--created_at", "created_at,name", "created_at desc"])
    expect(outcome(await read({ sort: wrong }))).toBe("400 validation_error");
  const all = new Set(itemsOf(await read({ limit: "200" })).map(keyOf));
  for (const field of sortsOf(binding)) {
    const answers = await Promise.all([read({ sort: field, limit: "200" }), read({ sort: `-${field}`, limit: "200" })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [up = [], down = []] = answers.map(itemsOf);
    // Audit queries add no events, but other reads may be recorded.
    expect(up.length).toBeGreaterThanOrEqual(Math.min(all.size, 1));
    const values = (items: Item[]) => items.map((item) => JSON.stringify(item[field] ?? "").toLowerCase());
    expect(values(up)).toEqual(values(up).toSorted());
    expect(values(down)).toEqual(values(down).toSorted().toReversed());
  }
});

/** Members that `q` looks into, the first that an item has. */
const TEXTS = ["name", "email", "url", "event_type", "key", "serial", "product", "spiffe_id", "type", "marketplace"];

it.each(named.filter(([, binding]) => has(binding, "q") && sortsOf(binding).length > 0))(
  "%s finds items by a part of their text in any case, and nothing by any other",
  async (_name, binding) => {
    const read = await reader(binding);
    const none = await read({ q: "no such thing %_\\ \u{1F600}" });
    expect([none.status, itemsOf(none), none.body.total]).toEqual([200, [], 0]);
    expect((await read({ q: "\u0000" })).status).toBe(400);
    const [first] = itemsOf(await read({}));
    const text = TEXTS.map((one) => first?.[one] ?? (first?.["app"] as Item | undefined)?.[one]).find(Boolean);
    if (first === undefined || typeof text !== "string") return;
    const found = itemsOf(await read({ q: text.toUpperCase().slice(0, 12), limit: "200" }));
    expect(found.map(keyOf)).toContain(keyOf(first));
  },
);

it.each(named.filter(([, binding]) => has(binding, "cursor")))(
  "%s is walked by cursor in either order, each item once, and a cursor serves nothing else",
  async (_name, binding) => {
    const read = await reader(binding);
    for (const sort of ["-created_at", "created_at"]) {
      const whole = await read({ limit: "200", sort });
      expect(whole.body.next_cursor).toBeUndefined();
      const walked: string[] = [];
      let cursor: string | undefined = "";
      let foreign: string | undefined;
      for (let page = 0; cursor !== undefined && page < 300; page++) {
        const answer = await read({ limit: "1", cursor, sort, offset: "7" });
        expect([answer.status, answer.text]).toEqual([200, answer.text]);
        walked.push(...itemsOf(answer).map(keyOf));
        cursor = answer.body.next_cursor;
        foreign ??= cursor;
      }
      expect(walked).toEqual(itemsOf(whole).map(keyOf));
      // Beside a cursor, even an offset beyond what is allowed is ignored (decisions 17.6).
      expect((await read({ cursor: "", sort, offset: "10001" })).status).toBe(200);
      if (foreign !== undefined) {
        const other = sort === "created_at" ? "-created_at" : "created_at";
        expect(outcome(await read({ cursor: foreign, sort: other }))).toBe("400 invalid_cursor");
        expect(outcome(await read({ cursor: foreign, sort, q: "a" }))).toBe("400 invalid_cursor");
      }
    }
    for (const cursor of ["x", "AAAA", "%00", "a".repeat(3_000)])
      expect(outcome(await read({ cursor }))).toBe("400 invalid_cursor");
  },
);

it("a walk by cursor has every row once while rows are made, and a cursor lasts an hour", async () => {
  const { token } = await signIn(app, side.owner);
  const body = { url: "https://hooks.example.test/walk", events: ["role.updated"] };
  const { webhook_id: id } = (await app.call("POST", "/api/v2/webhooks", { token, body })).body;
  const path = `/api/v2/webhooks/${id}`;
  const sent: string[] = [];
  const send = async (): Promise<void> => {
    app.clock.advance(10);
    sent.push((await app.call("POST", `${path}/test`, { token })).body.delivery_id);
  };
  for (let n = 0; n < 9; n++) await send();
  const before = [...sent];
  const walked: string[] = [];
  let last = "";
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const answer = await app.call("GET", `${path}/deliveries?limit=2&cursor=${cursor}`, { token });
    walked.push(...itemsOf(answer).map((item) => String(item["delivery_id"])));
    cursor = answer.body.next_cursor;
    last = cursor ?? last;
    await send();
  }
  expect(walked).toEqual(before.toReversed());
  app.clock.advance(3_600_000);
  const later = (await signIn(app, side.owner)).token;
  expect(outcome(await app.call("GET", `${path}/deliveries?cursor=${last}`, { token: later }))).toBe(
    "400 invalid_cursor",
  );
});
