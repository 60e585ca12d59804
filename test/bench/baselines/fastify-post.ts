/** The small POST with fastify, its rules and its response as JSON schema. */
import Fastify from "fastify";
import { postApp, published } from "./post-app.ts";
import { serve } from "./serve.ts";

const text = { type: "string" } as const;
const body = {
  type: "object",
  required: ["name", "slug", "deployment_modes", "provision_webhook"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 200 },
    slug: { type: "string", minLength: 3, maxLength: 63, pattern: "^[a-z0-9](-?[a-z0-9])*$" },
    description: { type: "string", maxLength: 10_000 },
    deployment_modes: {
      type: "array",
      minItems: 1,
      maxItems: 2,
      uniqueItems: true,
      items: { type: "string", enum: ["multi_tenant", "single_tenant"] },
    },
    pricing_model: { type: "string", pattern: "^[a-z][a-z0-9_]{0,31}$" },
    base_price_cents: { type: "integer", minimum: 0, maximum: 99_999_999 },
    currency: { type: "string", pattern: "^[a-z]{3}$" },
    provision_webhook: { type: "string", format: "uri", pattern: "^https?://" },
    plans: {
      type: "array",
      maxItems: 50,
      items: {
        type: "object",
        required: ["plan_id"],
        properties: {
          plan_id: { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
          name: { type: "string", maxLength: 200 },
          price_cents: { type: "integer", minimum: 0, maximum: 99_999_999 },
          interval: { type: "string", enum: ["month", "year", "once"] },
        },
      },
    },
  },
} as const;
const answer = {
  type: "object",
  properties: { app_id: text, slug: text, status: text, webhook_secret: text },
} as const;

const app = Fastify({ logger: false });
app.post<{ Body: { slug: string } }>(
  postApp.path,
  { schema: { body, response: { 201: answer } } },
  async (request, reply) => {
    reply.code(201);
    return published(request.body.slug);
  },
);
await app.ready();

// fastify made the server; we only say where it listens.
serve(app.server);
