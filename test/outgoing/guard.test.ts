import { describe, expect, test } from "vitest";
import { createGuardedClient } from "../../src/platform/outgoing/client.ts";
import { createGuard, isGlobalAddress, isLoopbackAddress } from "../../src/platform/outgoing/guard.ts";

const guard = createGuard({});

/** Refused when they are given, in production. */
const refusedAtOnce = [
  // no URL, or of another kind
  "",
  "example.com",
  "//example.com/",
  "http:",
  "http://",
  "http:///",
  "https://?",
  "http://:80/",
  "http:example.com",
  "http:/example.com",
  "ftp://example.com/",
  "file:///etc/passwd",
  "gopher://example.com/",
  "javascript:alert(1)",
  "data:text/plain,x",
  "unix:/var/run/docker.sock",
  "ws://example.com/",
  "blob:https://example.com/1",
  // credentials
  "http://user@example.com/",
  "http://user:pass@example.com/",
  "http://@example.com/",
  "http://:@example.com/",
  "http://example.com%40@127.0.0.1/",
  // characters that a parser would drop or rewrite
  "http://exa\nmple.com/",
  "http://example.com/\r\nX: y",
  " http://example.com/",
  "http://example.com/ x",
  "http:\\\\127.0.0.1\\",
  "http://example.com\\@127.0.0.1/",
  "http://exam\u0000ple.com/",
  "http://exa\tmple.com/",
  "http://example.com:0/",
  "http://example.com:65536/",
  `http://example.com/${"x".repeat(2_048)}`,
  // loopback in its many spellings
  "http://127.0.0.1/",
  "http://127.0.0.1./",
  "http://127.1/",
  "http://127.255.255.254/",
  "http://0x7f.1/",
  "http://0x7f000001/",
  "http://2130706433/",
  "http://017700000001/",
  "http://0177.0.0.01/",
  "http://%31%32%37.0.0.1/",
  "http://１２７.0.0.1/",
  "http://①②⑦.⓪.⓪.①/",
  "http://127。0。0。1/",
  "https://127.0.0.1:8443/hook",
  "http://[::1]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::127.0.0.1]/",
  // this network, private, shared, link-local, reserved
  "http://0/",
  "http://0.0.0.0/",
  "http://0.1.2.3/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://172.31.255.255/",
  "http://192.168.1.1/",
  "http://100.64.0.1/",
  "http://100.127.255.255/",
  "http://169.254.169.254/latest/meta-data/",
  "http://0xa9fea9fe/",
  "http://192.0.0.1/",
  "http://192.0.2.1/",
  "http://192.88.99.1/",
  "http://198.18.0.1/",
  "http://198.19.255.255/",
  "http://198.51.100.1/",
  "http://203.0.113.1/",
  "http://224.0.0.1/",
  "http://239.255.255.250/",
  "http://240.0.0.1/",
  "http://255.255.255.255/",
  "http://[::]/",
  "http://[fe80::1]/",
  "http://[febf::1]/",
  "http://[fec0::1]/",
  "http://[fc00::1]/",
  "http://[fd00:ec2::254]/",
  "http://[ff02::1]/",
  "http://[2001:db8::1]/",
  "http://[3fff::1]/",
  "http://[2001::1]/",
  "http://[2001:20::1]/",
  "http://[2002:7f00:1::]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[64:ff9b::808:808]/",
  "http://[64:ff9b:1::1]/",
  "http://[::ffff:8.8.8.8]/",
  "http://[::ffff:0:127.0.0.1]/",
  "http://[100::1]/",
  "http://[5f00::1]/",
  "http://[4000::1]/",
  "http://[fe80::1%25eth0]/",
];

const taken = [
  "http://example.com/",
  "https://example.com",
  "HTTPS://EXAMPLE.com:8443/a?b=c#d",
  "http://example.com./",
  "http://8.8.8.8/",
  "http://[2606:4700::1111]/",
  "http://172.32.0.1/",
  "http://100.128.0.1/",
  "http://münchen.example/",
  "http://localhost/",
  "https://hooks.example.com/a@b?c=@d",
];

test("the table of addresses has enough rows", () => expect(refusedAtOnce.length).toBeGreaterThanOrEqual(60));

test.each(refusedAtOnce)("the URL %j is refused", async (url) => {
  expect(guard.vetUrl(url)).toMatchObject({ field: "url" });
  const client = createGuardedClient({ resolve: () => Promise.reject(new Error("must not be asked")) });
  await expect(client.request({ method: "GET", url })).rejects.toMatchObject({ reason: "refused_address" });
  await client.close();
});

test.each(taken)("the URL %s is accepted", (url) => expect(guard.vetUrl(url)).toBeUndefined());

test("a violation names the member it is about", () =>
  expect(guard.vetUrl("ftp://x", "provision_webhook")).toMatchObject({
    field: "provision_webhook",
    code: "url_scheme",
  }));

describe("Development", () => {
  const development = createGuard({ allowLoopback: true });
  test.each([
    "http://127.0.0.1:9/",
    "http://127.9.9.9/",
    "http://[::1]:80/",
    "http://localhost:3000/",
    "http://0x7f.1/",
  ])("development accepts %s", (url) => expect(development.vetUrl(url)).toBeUndefined());
  test.each([
    "http://[::ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://10.0.0.1/",
    "http://169.254.169.254/",
    "http://128.0.0.1.nip.0/",
  ])("development refuses %s", (url) => expect(development.vetUrl(url)).toBeDefined());
  test("development accepts exactly 127/8 and ::1 as loopback", () => {
    for (const address of ["127.0.0.0", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1"])
      expect(isLoopbackAddress(address), address).toBe(true);
    for (const address of ["126.255.255.255", "128.0.0.0", "::", "::2", "::ffff:127.0.0.1", "fe80::1", "x", ""])
      expect(isLoopbackAddress(address), address).toBe(false);
  });
});

describe("Exceptions of the operator", () => {
  const open = createGuard({
    allow: [
      { host: "10.0.0.5", port: 8080 },
      { host: "fd00::5", port: 443 },
      { host: "Internal.Example", port: 80 },
    ],
  });
  test.each(["http://10.0.0.5:8080/x", "https://[fd00::5]/", "http://0xa000005:8080/"])(
    "an exception accepts %s",
    (url) => expect(open.vetUrl(url)).toBeUndefined(),
  );
  test.each(["http://10.0.0.5/", "http://10.0.0.6:8080/", "https://[fd00::5]:8443/", "http://127.0.0.1/"])(
    "an exception does not accept %s",
    (url) => expect(open.vetUrl(url)).toBeDefined(),
  );
  test("an exception for a name accepts any address it resolves to, on its port alone", () => {
    expect(open.allowsAddress("internal.example", 80, "10.1.1.1")).toBe(true);
    expect(open.allowsAddress("INTERNAL.example.", 80, "10.1.1.1")).toBe(true);
    expect(open.allowsAddress("internal.example", 81, "10.1.1.1")).toBe(false);
    expect(open.allowsAddress("other.example", 80, "10.1.1.1")).toBe(false);
  });
});

test("public addresses are recognized as public, and text that is no address is not", () => {
  for (const address of ["1.1.1.1", "8.8.8.8", "223.255.255.255", "2606:4700::1", "2a00:1450::1"])
    expect(isGlobalAddress(address), address).toBe(true);
  for (const address of ["", "x", "localhost", "1.1.1.1/8", "fe80::1%eth0"])
    expect(isGlobalAddress(address), address).toBe(false);
});
