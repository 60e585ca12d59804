import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { AuthEventsService } from "../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { tourIdentity } from "./identity.ts";
import { tourBilling } from "./billing.ts";
import { tourDirectory } from "./directory.ts";
import { startPublisher } from "./publisher.ts";
import type { Extras, Tour } from "./tour.ts";
import { tourTrust } from "./trust.ts";
import { startFailingReceiver } from "./webhook.ts";

/** Settings of {@link runStory}. */
export interface StoryOptions extends Extras {
  /** Address of a running service of the development profile. */
  baseUrl: string;
  /** Address of the first owner, who is platform admin. */
  ownerEmail: string;
  /** Prints a line. */
  say(line: string): void;
}

const PASSWORD = "correct horse battery staple";
/** What the publisher needs to provision an install. */
const PREPARATION_MS = 1_200;

function bearer(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

function connect(baseUrl: string, token?: string): Transport {
  return createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: token === undefined ? [] : [bearer(token)],
  });
}

/** The token mailed to an address since a time, from the development mailbox. */
async function mailedToken(baseUrl: string, email: string, since: number): Promise<string> {
  for (let attempt = 0; attempt < 1_200; attempt++) {
    const response = await fetch(`${baseUrl}/dev/mailbox.json`);
    const mails = (await response.json()) as { to: string; text: string; at: string }[];
    const mail = mails.find(({ to, at }) => to === email && Date.parse(at) >= since);
    const token = mail?.text.match(/[?&#]token=([A-Za-z0-9_-]{20,})/)?.[1];
    if (token !== undefined) return token;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no mail with a link for ${email} arrived in ${baseUrl}/dev/mailbox`);
}

async function signInByLink(baseUrl: string, email: string): Promise<string> {
  const login = createClient(LoginService, connect(baseUrl));
  const since = Date.now();
  await login.sendMagicLink({ email });
  const { accessToken } = await login.verifyMagicLink({ token: await mailedToken(baseUrl, email, since) });
  if (accessToken === undefined) throw new Error("the magic link asked for a second factor");
  return accessToken;
}

async function meOverEveryProtocol(baseUrl: string, token: string, say: StoryOptions["say"]): Promise<void> {
  const interceptors = [bearer(token)];
  const rest = await fetch(`${baseUrl}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } });
  const { org_name: name, roles } = (await rest.json()) as { org_name: string; roles: string[] };
  say(`   REST      ${name}, ${roles.join(", ")}`);
  const transports: [string, Transport][] = [
    ["Connect ", createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors })],
    ["gRPC    ", createGrpcTransport({ baseUrl, interceptors })],
    ["gRPC-Web", createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors })],
  ];
  for (const [protocol, transport] of transports) {
    const me = await createClient(AccessService, transport).getMe({});
    say(`   ${protocol}  ${me.orgName}, ${me.roles.join(", ")}`);
  }
}

/**
 * The main job from end to end: sign in by link, over four protocols; a publisher signs up and publishes; the platform
 * approves; the buyer installs and watches live; a second install is refused; a webhook's receiver fails and recovers;
 * the audit log lists it all; logout ends the token. Then the tours of identity, trust, a directory and billing.
 */
export async function runStory({ baseUrl, ownerEmail, say, ...extras }: StoryOptions): Promise<void> {
  const mark = Date.now().toString(36);

  say(`1. ${ownerEmail} signs in by magic link`);
  const ownerToken = await signInByLink(baseUrl, ownerEmail);
  say("2. The same question over four protocols: GET /api/auth/me");
  await meOverEveryProtocol(baseUrl, ownerToken, say);

  const email = `ada+${mark}@orbit.test`;
  const orgName = `Orbit ${mark}`;
  say(`3. A publisher signs up: ${orgName}`);
  await createClient(UsersService, connect(baseUrl)).createOrganization({
    name: orgName,
    email,
    password: PASSWORD,
    firstName: "Ada",
  });
  const signedIn = await createClient(LoginService, connect(baseUrl)).login({ email, password: PASSWORD, orgName });
  const publisherToken = signedIn.accessToken ?? "";
  say(`   ${email} signs in by password; the token lasts ${signedIn.expiresIn} s`);

  const publisher = await startPublisher(({ data }) => {
    // Like a publisher that needs time: accepts now, reports later.
    const callback = new URL(new URL(data.callback_url).pathname, baseUrl).href;
    setTimeout(
      () =>
        void publisher
          .report(callback, {
            status: "active",
            endpoint_url: `https://orbit.example/${mark}`,
            message: "welcome aboard",
          })
          .catch((error: unknown) => say(`   ${String(error)}`)),
      PREPARATION_MS,
    );
    return { status: 202 };
  });
  const hook = await startFailingReceiver(connect(baseUrl, ownerToken), "install.active", say);
  try {
    const slug = `orbit-${mark}`;
    const app = await createClient(PublisherService, connect(baseUrl, publisherToken)).publishApp({
      name: "Orbit Analytics",
      slug,
      description: "Dashboards for orbital operations",
      deploymentModes: ["multi_tenant"],
      pricingModel: "seat",
      basePriceCents: 1900,
      currency: "usd",
      provisionWebhook: publisher.url,
    });
    publisher.useSecret(app.webhookSecret);
    say(`4. ${orgName} publishes ${slug}: ${app.status}; its webhook secret is shown once`);

    const platform = createClient(PublisherService, connect(baseUrl, ownerToken));
    const approved = await platform.approveApp({ appId: app.appId });
    say(`5. The platform admin approves it: ${approved.status}`);

    const buyer = createClient(BuyerService, connect(baseUrl, ownerToken));
    const found = await buyer.browseApps({ q: mark });
    say(`6. Acme browses the marketplace: ${found.total} match, ${found.apps.map((each) => each.slug).join(", ")}`);
    const install = await buyer.installApp({ slug, quantity: 3 });
    say(`7. Acme installs it and watches: ${install.status}`);
    await watchInstall(baseUrl, ownerToken, install.installId, say);
    say(
      `   the publisher received ${publisher.calls.length} signed request, ${publisher.calls[0]?.type}, ` +
        "and reported with a signature of its own",
    );

    await buyer.installApp({ slug }).then(
      () => Promise.reject(new Error("a second live install was accepted")),
      (error: unknown) => {
        if (ConnectError.from(error).code !== Code.AlreadyExists) throw error;
        say("8. A second install is refused: already_installed");
      },
    );
    await hook.tellRecovery(9);
  } finally {
    await hook.close();
    await publisher.close();
  }

  const events = await createClient(AuthEventsService, connect(baseUrl, ownerToken)).listAuthEvents({ limit: 5 });
  say(
    `10. The audit log has ${events.total} authentication event${events.total === 1 ? "" : "s"} of Acme; ` +
      `the newest is ${events.data[0]?.type}`,
  );
  await createClient(LoginService, connect(baseUrl, publisherToken)).logout({});
  const after = await fetch(`${baseUrl}/api/auth/me`, { headers: { authorization: `Bearer ${publisherToken}` } });
  if (after.status !== 401) throw new Error(`a token answered ${after.status} after its logout`);
  say("11. After the logout, the next request is refused: 401");

  // In the publisher's organization, created by this run: ending all its sessions affects no other run.
  const again = await createClient(LoginService, connect(baseUrl)).login({ email, password: PASSWORD, orgName });
  const me = await createClient(AccessService, connect(baseUrl, again.accessToken)).getMe({});
  const tour: Tour = {
    signIn: async () => {
      const { accessToken } = await createClient(LoginService, connect(baseUrl)).login({
        email,
        password: PASSWORD,
        orgName,
      });
      return accessToken ?? "";
    },
    baseUrl,
    mark,
    say,
    orgName,
    ownerEmail: email,
    ownerToken: again.accessToken ?? "",
    platformToken: ownerToken,
    orgUuid: me.orgUuid ?? "",
    connect: (token) => connect(baseUrl, token),
    mailedToken: (to, since) => mailedToken(baseUrl, to, since),
  };
  const elevatedToken = await tourIdentity(tour);
  await tourTrust(tour, elevatedToken, extras);
  await tourDirectory(tour);
  await tourBilling(tour);
}

/** Reads the stream of the install until it is active: each record has the new entries of the timeline. */
async function watchInstall(
  baseUrl: string,
  token: string,
  installId: string,
  say: StoryOptions["say"],
): Promise<void> {
  const buyer = createClient(BuyerService, connect(baseUrl, token));
  const began = Date.now();
  let told = 0;
  for await (const install of buyer.watchInstall({ installId }, { timeoutMs: 30_000 })) {
    const after = `+${((Date.now() - began) / 1000).toFixed(1)} s`;
    for (const line of install.timeline.slice(told))
      say(`   ${after.padEnd(7)} ${line.event.padEnd(10)} ${line.detail ?? ""}`);
    told = install.timeline.length;
    if (install.status === "active") return say(`   active at ${install.endpointUrl}`);
    if (install.status === "deprovisioned") throw new Error(`the install failed: ${install.failureReason}`);
  }
  throw new Error("the stream ended before the install was active");
}
