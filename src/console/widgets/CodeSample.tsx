import { Tabs } from "@base-ui/react/tabs";
import { useId, useState } from "react";
import { serviceUrl } from "../settings.ts";
import style from "./CodeSample.module.css";
import { Copy } from "./Copy.tsx";

/** A call of the API, as a page makes it. */
export interface Sample {
  /** `POST /api/…` with the real ids of the page. */
  http: string;
  body?: unknown;
  /** Whether the call takes no credential. */
  isPublic?: boolean;
}

/** The same call in three languages, with this page's ids and address; the credential is `$TOKEN`. */
export function CodeSample({ http, body, isPublic = false }: Sample) {
  const [method = "GET", path = "/"] = http.split(" ");
  const [language, setLanguage] = useState<keyof typeof texts>("curl");
  const label = useId();
  const texts = {
    curl: curl(method, path, body, isPublic),
    TypeScript: typescript(method, path, body, isPublic),
    Python: python(method, path, body, isPublic),
  };
  return (
    <section aria-label="Code sample" className={style["sample"]}>
      <Tabs.Root value={language} onValueChange={(value: keyof typeof texts) => setLanguage(value)}>
        <div className={style["bar"]}>
          <Tabs.List aria-label="Language">
            {Object.keys(texts).map((name) => (
              <Tabs.Tab key={name} value={name} className={style["tab"]}>
                {name}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Copy text={texts[language]} what="sample" />
        </div>
        <span id={label} hidden>
          Sample
        </span>
        {Object.entries(texts).map(([name, text]) => (
          // Not by its tab: "curl" would be found by whoever looks for a field "URL".
          <Tabs.Panel key={name} value={name} aria-labelledby={label}>
            <pre className={style["code"]} tabIndex={0}>
              {text}
            </pre>
          </Tabs.Panel>
        ))}
      </Tabs.Root>
    </section>
  );
}

/** Values of a form as the body of a call: by the contract's names, without what is empty or in the path. */
export function bodyOf(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const filled = Object.entries(values).filter(
    ([name, value]) => !name.startsWith("$") && name !== "orgUuid" && value !== undefined && value !== "",
  );
  return Object.fromEntries(
    filled.map(([name, value]) => [name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`), value]),
  );
}

/** The same behind "Show as code": in dialogs, where the form comes first. */
export function ShowAsCode(sample: Sample) {
  const [open, setOpen] = useState(false);
  return (
    <details className={style["disclosure"]} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show as code</summary>
      {open && <CodeSample {...sample} />}
    </details>
  );
}

function curl(method: string, path: string, body: unknown, isPublic: boolean): string {
  const address = `${serviceUrl}${path}`;
  // A shell would take the signs of a query for its own.
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${/[?&]/u.test(address) ? `'${address}'` : address}`];
  if (!isPublic) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  if (body !== undefined)
    lines.push(`-H "Content-Type: application/json"`, `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

function typescript(method: string, path: string, body: unknown, isPublic: boolean): string {
  const headers = isPublic ? [] : ["Authorization: `Bearer ${env.TOKEN}`"];
  if (body !== undefined) headers.push(`"Content-Type": "application/json"`);
  return [
    ...(isPublic ? [] : [`import { env } from "node:process";`, ""]),
    `const response = await fetch("${serviceUrl}${path}", {`,
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(", ")} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(body)}),`]),
    "});",
    "console.log(response.status, await response.text());",
  ].join("\n");
}

function python(method: string, path: string, body: unknown, isPublic: boolean): string {
  return [
    isPublic ? "import urllib.request" : "import os, urllib.request",
    "",
    `request = urllib.request.Request("${serviceUrl}${path}", method="${method}"${
      body === undefined ? "" : `, data=${JSON.stringify(JSON.stringify(body))}.encode()`
    })`,
    ...(isPublic ? [] : [`request.add_header("Authorization", f"Bearer {os.environ['TOKEN']}")`]),
    ...(body === undefined ? [] : [`request.add_header("Content-Type", "application/json")`]),
    "print(urllib.request.urlopen(request).read().decode())",
  ].join("\n");
}
