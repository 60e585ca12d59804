import { CSPProvider } from "@base-ui/react/csp-provider";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import "./style/tokens.css";
import "./style/base.css";
import { router } from "./router.tsx";
import { linkToken, takeLinkToken } from "./session/link-token.ts";
import { queries, start, transport } from "./session/session.ts";

// Before the first request: a token in the address must not reach a server, a log or the history.
takeLinkToken();
void start().catch(() => undefined);

const element = document.getElementById("root");
if (element === null) throw new Error("the document has no root");
const page = createRoot(element);
let links = 0;

function render(): void {
  page.render(
    <CSPProvider disableStyleElements>
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queries}>
          <RouterProvider key={links} router={router} />
        </QueryClientProvider>
      </TransportProvider>
    </CSPProvider>,
  );
}

// Another mailed link to the same page, opened in this tab, loads nothing: its page starts anew with the new token.
addEventListener("hashchange", () => {
  const before = linkToken();
  takeLinkToken();
  if (linkToken() === before) return;
  links++;
  render();
});
render();
