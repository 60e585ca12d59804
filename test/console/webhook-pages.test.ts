import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("pages of webhooks", () => {
  const here = surroundings();
  let receiver: Server;
  let receiverUrl: string;
  /** What the receiver got last, as its log would show it. */
  const received = { headers: "", body: "" };

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      void text(request).then((body) => {
        const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${String(value)}`);
        Object.assign(received, { headers: lines.join("\n"), body });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
  });
  afterAll(() => void receiver.close());

  const at = (path: string): Promise<Page> => here.at(path);

  it("the charts of a webhook show its deliveries, as bars and as a table", async () => {
    const token = await here.app.login();
    const made = await here.app.call("POST", "/api/v2/webhooks", { token, body: { url: receiverUrl, events: ["*"] } });
    const { webhook_id: id } = made.body as { webhook_id: string };
    await here.app.call("POST", `/api/v2/webhooks/${id}/test`, { token });
    await expect
      .poll(async () => {
        const { body } = await here.app.call("GET", `/api/v2/webhooks/${id}/deliveries?status=delivered`, { token });
        return body.total as number;
      })
      .toBe(1);
    const page = await at(`webhooks/${id}`);
    await page.getByRole("img", { name: "Success, 7 days in UTC. Delivered 1, Failed 0." }).waitFor();
    await page.getByRole("img", { name: /^Latency, 7 days in UTC\. 95th percentile [\d,]+ ms/u }).waitFor();
    await page.getByRole("combobox", { name: "Days of Success" }).selectOption("30 days");
    await page.getByRole("img", { name: "Success, 30 days in UTC. Delivered 1, Failed 0." }).waitFor();
    await page.getByRole("button", { name: "Show as table" }).first().click();
    const rows = page.getByRole("table", { name: "Success" }).getByRole("row");
    expect(await rows.count()).toBe(31);
    const today = new Date().toISOString().slice(0, 10);
    expect(await rows.last().getByRole("cell").allTextContents()).toEqual([today, "1", "0"]);
  });

  it("why a delivery was not sent again is forgotten once it stands otherwise or another call succeeds", async () => {
    const token = await here.app.login();
    const made = await here.app.call("POST", "/api/v2/webhooks", { token, body: { url: receiverUrl, events: ["*"] } });
    const { webhook_id: id } = made.body as { webhook_id: string };
    const page = await at(`webhooks/${id}`);
    const alert = page.getByRole("alert").filter({ hasText: "The service did not answer" });
    await page.route(/WebhooksService\/(?:TestWebhook|Redeliver)$/u, (route) => route.abort("connectionreset"));
    await page.getByRole("button", { name: "Send test" }).click();
    await alert.waitFor();
    await page.unroute(/WebhooksService\/(?:TestWebhook|Redeliver)$/u);
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Enable" }).click();
    await expect.poll(() => alert.count()).toBe(0);

    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByRole("link", { name: "webhook.test" }).first().click();
    const again = page.getByRole("button", { name: "Redeliver" });
    await page.route(/WebhooksService\/Redeliver$/u, (route) => route.abort("connectionreset"));
    await again.click();
    await alert.waitFor();
    await page.unroute(/WebhooksService\/Redeliver$/u);
    // Somebody else sends it.
    const path = new URL(page.url()).pathname.replace("/console", "/api/v2");
    expect((await here.app.call("POST", `${path}/redeliver`, { token })).status).toBe(202);
    const isSaid = async (): Promise<boolean> => {
      await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
      return (await alert.count()) > 0;
    };
    await expect.poll(isSaid).toBe(false);
  });

  it("deliveries appear in the live tail, are checked, sent again and signed anew after a rotation", async () => {
    const token = await here.app.login();
    const path = "/api/v2/webhooks";
    const { body } = await here.app.call("POST", path, { token, body: { url: receiverUrl, events: ["mfa.disabled"] } });
    const { webhook_id: id, secret } = body as { webhook_id: string; secret: string };
    const page = await at(`webhooks/${id}`);
    await page.getByRole("button", { name: "Live tail" }).click();
    await page.getByText("Listening").waitFor();
    const tail = page.getByRole("table", { name: "Live tail" });
    await page.getByRole("button", { name: "Send test" }).click();
    await tail.getByRole("cell", { name: "204" }).waitFor();
    expect(await page.getByRole("button", { name: "Redeliver failed" }).isDisabled()).toBe(true);

    await page.getByRole("button", { name: "Check a signature" }).click();
    const dialog = page.getByRole("dialog", { name: "Check a signature" });
    await dialog.getByLabel("Secret", { exact: true }).fill(secret);
    await dialog.getByLabel("Headers").fill(received.headers);
    await dialog.getByLabel("Body").fill(received.body);
    await dialog.getByRole("button", { name: "Check" }).click();
    await expect.poll(() => dialog.getByText("Valid").count()).toBe(2);
    await dialog.getByLabel("Body").fill(`${received.body} `);
    await dialog.getByRole("button", { name: "Check" }).click();
    await expect.poll(() => dialog.getByText("Wrong").count()).toBe(2);
    await dialog.getByRole("button", { name: "Close" }).click();

    await page.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "I have saved it" }).click();
    await page.getByText("Both secrets are valid until", { exact: false }).waitFor();
    await tail.getByRole("link", { name: "webhook.test" }).first().click();
    await page.getByRole("heading", { level: 1, name: "webhook.test" }).waitFor();
    await page.getByText(`POST ${receiverUrl}`, { exact: false }).waitFor();
    await page.getByRole("button", { name: "Redeliver" }).click();
    await expect
      .poll(() =>
        page
          .getByRole("listitem")
          .filter({ hasText: /^204 ·/u })
          .count(),
      )
      .toBe(2);
  });
});
