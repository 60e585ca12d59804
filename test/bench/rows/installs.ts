import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "../../support/postgres.ts";
import { Latencies } from "../load/latencies.ts";
import { marketOfRow, until } from "../market.ts";
import type { Market } from "../market.ts";
import { spread } from "../stats.ts";
import type { FigureRow, RatioRow } from "./row.ts";

/** Apps on offer; each organization installs each once. */
const apps = 120;
/** Installs a second that have to be sustained. */
const perSecond = 15;

/** A market with apps that nobody has installed. */
interface Offer {
  /** Path of the next install and the number of the session that makes it. */
  next(): { path: string; session: number };
  /** Makes the next install; resolves to its id and the duration of the request, milliseconds. */
  install(): Promise<{ installId: string; session: number; ms: number }>;
  /** Waits until no install is in progress. */
  settled(): Promise<void>;
}

async function offer(market: Market): Promise<Offer> {
  const slugs: string[] = [];
  for (let i = 0; i < apps; i++) {
    const slug = `bench-${i}`;
    const { app_id: appId } = await market.call<{ app_id: string }>(0, "POST", "/api/marketplace/apps", 201, {
      name: `Bench ${i}`,
      slug,
      description: "An app to be installed",
      deployment_modes: ["multi_tenant"],
      pricing_model: "free",
      base_price_cents: 0,
      currency: "usd",
      provision_webhook: market.url,
    });
    await market.call(0, "POST", `/api/admin/marketplace/apps/${appId}/approve`, 200);
    slugs.push(slug);
  }
  const people = market.service.people.length;
  let made = 0;
  const next = (): { path: string; session: number } => {
    const [session, slug] = [made % people, slugs[Math.floor(made / people)]];
    if (slug === undefined) throw new Error("every organization has installed every app: run fewer rounds");
    made++;
    return { path: `/api/marketplace/${slug}/install`, session };
  };
  return {
    next,
    async install() {
      const { path, session } = next();
      const began = performance.now();
      const { install_id: installId } = await market.call<{ install_id: string }>(session, "POST", path, 202, {});
      return { installId, session, ms: performance.now() - began };
    },
    settled: () =>
      until(
        async () =>
          (await runSql(market.service.databaseUrl, "select 1 from installs where step is not null limit 1")).length ===
          0,
        50,
        120_000,
        "the end of every install",
      ),
  };
}

const forIdle = marketOfRow("installs_idle", offer);
/** From the request to `active`, one install at a time. */
export const idleInstall: FigureRow = {
  kind: "figure",
  name: "install-idle",
  title: "install to active, publisher answers at once, p50 idle",
  unit: "ms",
  target: 300,
  async measure(environment) {
    const market = await forIdle(environment);
    const took: number[] = [];
    for (let i = 0; i < 30; i++) {
      const began = performance.now();
      const { installId, session } = await market.install();
      await until(
        async () =>
          (await market.call<{ status: string }>(session, "GET", `/api/installs/${installId}`, 200)).status ===
          "active",
        4,
        30_000,
        "an active install",
      );
      took.push(performance.now() - began);
      await sleep(50);
    }
    return spread(took).median;
  },
};

const forRate = marketOfRow("installs_rate", offer);
/** How many installs a second become active when many are requested at once. */
export const installRate: FigureRow = {
  kind: "figure",
  name: "installs",
  title: "installs to active on an embedded Temporal, sustained",
  unit: "1/s",
  target: perSecond,
  at: "least",
  async measure(environment, seconds) {
    const market = await forRate(environment);
    const count = Math.min(300, Math.ceil(seconds * 100));
    const began = performance.now();
    for (let left = count; left > 0; left -= 10)
      await Promise.all(Array.from({ length: Math.min(10, left) }, () => market.install()));
    await market.settled();
    return count / ((performance.now() - began) / 1000);
  },
};

const forRequest = marketOfRow("installs_request", offer);
/** No request waits for Temporal: what `POST …/install` costs its caller while installs are driven, and without. */
export const installRequest: RatioRow = {
  kind: "ratio",
  name: "install-post",
  title: `p99 of POST …/install at ${perSecond} installs a second, against its idle p99`,
  unit: "ms",
  target: 3,
  at: "most",
  async sides(environment) {
    const market = await forRequest(environment);
    const p99 = (took: readonly number[]) => {
      const latencies = new Latencies();
      for (const ms of took) latencies.add(ms);
      const [p50 = 0, value = 0] = latencies.percentiles(0.5, 0.99);
      return { value, p50, p99: value };
    };
    return [
      {
        name: "under load",
        async measure() {
          const requests: Promise<{ ms: number }>[] = [];
          for (let i = 0; i < 100; i++) {
            requests.push(market.install());
            await sleep(1000 / perSecond);
          }
          const took = (await Promise.all(requests)).map(({ ms }) => ms);
          await market.settled();
          return p99(took);
        },
      },
      {
        name: "idle",
        async measure() {
          const took: number[] = [];
          for (let i = 0; i < 100; i++) {
            took.push((await market.install()).ms);
            await market.settled();
          }
          return p99(took);
        },
      },
    ];
  },
};
