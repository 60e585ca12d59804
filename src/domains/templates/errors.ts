import { defineErrors } from "../../platform/errors.ts";

/** Errors of templates and variables (decisions 1.6 and 10.10). */
export const templateErrors = defineErrors({
  notFound: [404, "template_not_found", "No such template."],
  invalidTemplate: [400, "invalid_template", "The body has a placeholder whose value cannot be escaped safely."],
  invalidFormat: [400, "invalid_format", "format is html or text."],
  missingVariable: [422, "missing_variable", "A placeholder has no value; send one, or store it as a variable."],
  documentTooLarge: [413, "payload_too_large", "The document is larger than 5 MiB; use shorter values."],
  tooManyTemplates: [409, "conflict", "The organization has 1,000 templates; delete one first."],
  variableNotFound: [404, "not_found", "No such variable."],
  variableExists: [409, "variable_exists", "A variable with this key exists in this scope.", "duplicate"],
  tooManyVariables: [409, "conflict", "There are 1,000 variables in this scope; delete one first."],
  globalNeedsAdmin: [403, "forbidden", "Only admins change global variables; use the scope user for your own."],
  noPerson: [403, "forbidden", "A variable of the scope user belongs to a person; sign in as one."],
});
