/** A bare `node:http` server that returns the JSON in ANSWER for every request. */
import { createServer } from "node:http";
import { serve } from "./serve.ts";

const body = Buffer.from(process.env["ANSWER"] ?? "{}", "utf8");
const headers = { "content-type": "application/json", "content-length": body.length };

serve(
  createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  }),
);
