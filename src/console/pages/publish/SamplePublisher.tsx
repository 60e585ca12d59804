import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { Copy } from "../../widgets/Copy.tsx";
import { Section } from "../../widgets/Page.tsx";
import style from "./Publish.module.css";

/** A server to start from, with the ids of this app. */
export function SamplePublisher({ app }: { app: App }) {
  const code = sampleOf(app);
  return (
    <Section
      title="Sample publisher"
      about="Verifies every call, answers each message once, and provisions at once. It needs @atrium/client."
      actions={<Copy text={code} what="sample publisher" />}
    >
      <pre className={style["code"]} tabIndex={0}>
        {code}
      </pre>
    </Section>
  );
}

function sampleOf({ appId, slug, plans, provisionWebhook = "" }: App): string {
  const url = URL.parse(provisionWebhook);
  const cases = plans.map(({ planId }) => `// ${JSON.stringify(planId)}`);
  return `import { createServer } from "node:http";
import { env } from "node:process";
import { buffer } from "node:stream/consumers";
import { createPublisher } from "@atrium/client/publisher";

// App ${slug}, ${appId}. Plans that \`plan_id\` can name:
${cases.join("\n")}
const publisher = createPublisher({
  secret: env.PROVISION_SECRET ?? "",
  baseUrl: ${JSON.stringify(serviceUrl)},
  on: {
    provision: ({ org }) => ({ status: "active", endpointUrl: \`https://\${org.org_uuid}.app.example\` }),
    deprovision: ({ install_id }) => console.log("Removed", install_id),
    suspend: ({ install_id }) => console.log("Suspended", install_id),
    resume: ({ install_id }) => console.log("Resumed", install_id),
  },
});

// ${provisionWebhook}
createServer(async (request, response) => {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const call = new Request("http://publisher/", { method: "POST", body: await buffer(request), headers });
  const answer = await publisher(call);
  response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
}).listen(${url?.port || 3000});
`;
}
