import type { DescMethod } from "@bufbuild/protobuf";
import { bindings, rpcs } from "../shape/contract-routes.ts";
import { calm } from "./chance.ts";
import type { Chance } from "./chance.ts";
import { body, plain } from "./values.ts";
import type { Known } from "./values.ts";

/** One request, sent unchanged. */
export interface FuzzRequest {
  rpc: DescMethod;
  protocol: "rest" | "connect";
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

const routes = bindings();

/** Requests that would end the caller's own permissions during the run; sent without a credential only. */
const suicidal =
  /^(?:Logout|DeleteOrganization|RevokeAll|RevokeOrganization|RevokeOwn|RemoveUser|UpdateUser|ChangePassword|Seal)/u;

const odd: Readonly<Record<string, readonly string[]>> = {
  accept: [
    "*/*",
    "application/json",
    "text/html",
    "application/problem+json",
    "application/x-flatbuffers",
    ";;;",
    "application/json;q=0",
    "a/b;q=x",
  ],
  "content-type": [
    "text/plain",
    "application/json; charset=utf-16",
    "application/x-www-form-urlencoded",
    "application/grpc",
    "x",
    "application/json;;;",
    "multipart/form-data",
  ],
  "content-encoding": ["gzip", "br", "identity", "x"],
  "idempotency-key": ["k1", "k2", "ü", "x".repeat(256), " ", "a b"],
  "x-device-uuid": ["0b1d2a3e-aaaa-4000-8000-00000000000f", "nope", ""],
  "x-request-id": ["abc", "x".repeat(500), "\u00ff"],
  "connect-timeout-ms": ["1", "0", "-1", "x", "99999999999999", "1000"],
  "connect-protocol-version": ["1", "2", ""],
  "accept-encoding": ["gzip", "br", "x", "gzip;q=0"],
  "if-match": ["1", '"1"', "*", "W/x"],
  "if-none-match": ["*", '"x"'],
  origin: ["http://localhost:3000", "https://evil.test", "null", "x"],
  range: ["bytes=0-1", "x"],
  cookie: ["a=b", ";;;"],
  "x-forwarded-for": ["1.2.3.4", "x, ::1", ""],
  "x-http-method-override": ["DELETE"],
};

function headers(chance: Chance, rpc: DescMethod, tokens: readonly string[]): Record<string, string> {
  const sent: Record<string, string> = {};
  const [good = "", ...bad] = tokens;
  if (chance.sometimes(0.7) && !suicidal.test(rpc.name)) sent["authorization"] = `Bearer ${good}`;
  else if (chance.sometimes(0.4))
    sent["authorization"] = chance.pick([
      ...bad.map((token) => `Bearer ${token}`),
      "Bearer",
      "Basic eDp5",
      "bearer  x",
      "Bearer \u00ff",
      `Bearer ${"x".repeat(5_000)}`,
    ]);
  if (chance.sometimes(0.3)) {
    const name = chance.pick(Object.keys(odd));
    sent[name] = chance.pick(odd[name] ?? [""]);
  }
  return sent;
}

function encode(chance: Chance, value: string): string {
  return chance.sometimes(0.9) ? encodeURIComponent(value.toWellFormed()) : value.replaceAll(/[^!-~]|[?#]/gu, "");
}

function restPath(chance: Chance, rpc: DescMethod, template: string, known: Known): string {
  const path = template.replaceAll(/\{([a-zA-Z_.]+)(?:=[^}]*)?\}/gu, (_whole, name: string) =>
    encode(
      chance,
      plain(
        chance,
        rpc.input.fields.find((field) => field.name === name),
        known,
      ),
    ),
  );
  const shaken = chance.sometimes(0.04)
    ? chance.pick([
        `${path}/`,
        path.replace("/api", "//api"),
        path.toUpperCase(),
        path.replace("/", "/%2f"),
        `${path}%`,
        `${path}%zz`,
        `${path};x=y`,
        path.slice(0, -1),
      ])
    : path;
  const asked = rpc.input.fields
    .filter(() => chance.sometimes(0.4))
    .map((field) => `${field.name}=${encode(chance, plain(chance, field, known))}`);
  if (chance.sometimes(0.05)) asked.push("a[]=1&&=&%ff=x", ...asked);
  return asked.length > 0 && chance.sometimes(0.5) ? `${shaken}?${asked.join("&")}` : shaken;
}

function rest(chance: Chance, known: Known, tokens: readonly string[]): FuzzRequest {
  const { rpc, method: bound, path } = chance.pick(routes);
  const method = chance.sometimes(0.03)
    ? chance.pick(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"])
    : bound;
  const bare =
    method === "GET" || method === "HEAD" || method === "DELETE" ? chance.sometimes(0.9) : chance.sometimes(0.05);
  const content = bare ? undefined : body(chance, rpc.input, known);
  const typed: Record<string, string> = content === undefined ? {} : { "content-type": "application/json" };
  return {
    rpc,
    protocol: "rest",
    method,
    path: restPath(chance, rpc, path, known),
    headers: { ...typed, ...headers(chance, rpc, tokens) },
    body: content,
  };
}

function connect(chance: Chance, known: Known, tokens: readonly string[]): FuzzRequest {
  const rpc = chance.pick(rpcs);
  const path = `/${rpc.parent.typeName}/${rpc.name}`;
  const sent = headers(chance, rpc, tokens);
  if (chance.sometimes(0.15)) {
    const encoding = chance.pick(["json", "proto", "x"]);
    const message = encodeURIComponent(body(chance, rpc.input, known).slice(0, 4_000).toWellFormed());
    const option = chance.pick(["", "&base64=1", "&compression=gzip"]);
    const query = `?connect=v1&encoding=${encoding}&message=${message}${option}`;
    return { rpc, protocol: "connect", method: "GET", path: path + query, headers: sent, body: undefined };
  }
  const type = chance.sometimes(0.8)
    ? "application/json"
    : chance.pick([
        "application/proto",
        "application/grpc-web+proto",
        "application/connect+json",
        "application/grpc-web+json",
      ]);
  return {
    rpc,
    protocol: "connect",
    method: "POST",
    path,
    headers: { "content-type": type, ...sent },
    body: body(chance, rpc.input, known),
  };
}

/** A request over REST or Connect to any rpc of the contract; every third is valid. */
export function fuzzRequest(dice: Chance, known: Known, tokens: readonly string[]): FuzzRequest {
  const chance = dice.sometimes(0.33) ? calm(dice) : dice;
  return chance.sometimes(0.65) ? rest(chance, known, tokens) : connect(chance, known, tokens);
}
