import type { Value } from "@bufbuild/protobuf/wkt";
import type { CvEducation, CvExperience, GenerateCvRequest } from "../../../gen/atrium/templates/v1/cv_pb.ts";
import { errors } from "../../platform/errors.ts";
import { CV_STYLE } from "./cv-style.ts";
import { escapeHtml } from "../../platform/html.ts";

/**
 * The page of a curriculum vitae: complete HTML without scripts, fonts or images from elsewhere.
 * @throws {validation_error} for a year that is neither a string nor a number
 */
export function printCv({ personal, experience, education, skills }: GenerateCvRequest): string {
  // The field rules of the contract demand the person.
  const { fullName = "", title, email } = personal ?? {};
  const name = escapeHtml(fullName);
  const sections = [
    section("Experience", experience.map(position)),
    section("Education", education.map(degree)),
    section("Skills", [list(skills.filter((skill) => skill !== ""))]),
  ];
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${name}</title>
    <style>${CV_STYLE}</style>
  </head>
  <body>
    <main>
      <header>
        <h1>${name}</h1>${line("title", title)}${contact(email)}
      </header>${sections.join("")}
    </main>
  </body>
</html>
`;
}

function line(kind: string, text: string | undefined): string {
  return text === undefined || text === "" ? "" : `\n        <p class="${kind}">${escapeHtml(text)}</p>`;
}

function contact(email: string | undefined): string {
  if (email === undefined || email === "") return "";
  const address = escapeHtml(email);
  return `\n        <p class="contact"><a href="mailto:${escapeHtml(encodeURI(email))}">${address}</a></p>`;
}

/** A section of what its entries say; empty when they say nothing. */
function section(title: string, entries: readonly string[]): string {
  const text = entries.join("");
  return text === "" ? "" : `\n      <section>\n        <h2>${title}</h2>${text}\n      </section>`;
}

function position({ company, role, start, end, description }: CvExperience): string {
  const period = [start, end].filter((time) => time !== undefined && time !== "").join(" – ");
  return entry(role, period, company, description);
}

function degree({ institution, degree: name, year }: CvEducation, nth: number): string {
  return entry(name, yearText(year, nth), institution, undefined);
}

function entry(
  what: string | undefined,
  when: string,
  where: string | undefined,
  description: string | undefined,
): string {
  // What stands first is the heading, whichever member it is.
  const [heading, place] = what === undefined || what === "" ? [where, undefined] : [what, where];
  const title = heading === undefined || heading === "" ? "" : `\n        <h3>${escapeHtml(heading)}</h3>`;
  const lines = `${title}${line("when", when)}${line("where", place)}${line("what", description)}`;
  return lines === "" ? "" : `\n        <div class="entry">${lines}\n        </div>`;
}

function list(skills: readonly string[]): string {
  if (skills.length === 0) return "";
  const items = skills.map((skill) => `\n          <li>${escapeHtml(skill)}</li>`).join("");
  return `\n        <ul class="skills">${items}\n        </ul>`;
}

function yearText(year: Value | undefined, nth: number): string {
  const kind = year?.kind;
  if (kind === undefined || kind.case === undefined || kind.case === "nullValue") return "";
  if (kind.case === "numberValue" && Number.isFinite(kind.value)) return String(kind.value);
  if (kind.case === "stringValue" && kind.value.length <= 64) return kind.value;
  const message = "must be a number, or a string of at most 64 characters";
  throw errors.validation({ fields: [{ field: `education[${nth}].year`, code: "type", message }] });
}
