import type { DescField, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/** The comment before a declaration, its lines joined to paragraphs. */
export function commentOf(desc: DescField | DescMessage | DescMethod | DescService): string {
  return (getComments(desc).leading ?? "")
    .split(/\n\s*\n/u)
    .map((paragraph) => paragraph.replaceAll(/\s+/gu, " ").trim())
    .filter((paragraph) => paragraph !== "")
    .join("\n\n");
}

/** The first sentence of a comment. */
export function summaryOf(comment: string): string {
  return /^.*?[.;:](?=\s|$)/su.exec(comment)?.[0].replace(/[.;:]$/u, "") ?? comment;
}
