import { ExternalLink as Icon } from "lucide-react";

/** A link to an address that somebody else gave: only http and https are links, and the host is shown. */
export function ExternalLink({ href, label }: { href: string | undefined; label?: string }) {
  if (href === undefined || href === "") return <>–</>;
  const url = URL.canParse(href) ? new URL(href) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) return <code>{href}</code>;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer">
      {label === undefined ? url.host : `${label} (${url.host})`} <Icon size={13} aria-label="opens in a new tab" />
    </a>
  );
}
