/** The small POST served by src/transcoding, its rules checked as the service checks them. */
import { createServer } from "node:http";
import type { ServiceImpl } from "@connectrpc/connect";
import { PublisherService } from "../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { PublishAppRequestSchema } from "../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { compileValidator } from "../../../src/platform/validation.ts";
import { createTranscoder } from "../../../src/transcoding/index.ts";
import { published } from "./post-app.ts";
import { serve } from "./serve.ts";

const validate = compileValidator(PublishAppRequestSchema);
const publisher: Partial<ServiceImpl<typeof PublisherService>> = {
  publishApp(request) {
    const wrong = validate?.(request);
    if (wrong !== undefined) throw new Error(JSON.stringify(wrong));
    const { app_id: appId, webhook_secret: webhookSecret, slug, status } = published(request.slug);
    return { appId, slug, status, webhookSecret };
  },
};
const transcoder = createTranscoder({
  services: [{ service: PublisherService, implementation: publisher }],
  rest: (method) => (method.localName === "publishApp" ? { status: 201 } : undefined),
});

serve(
  createServer((request, response) => {
    if (!transcoder.handle(request, response)) response.writeHead(404).end();
  }),
);
