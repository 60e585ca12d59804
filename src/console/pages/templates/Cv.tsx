import { create } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { CvPersonalSchema } from "../../../../gen/atrium/templates/v1/cv_pb.ts";
import { TemplatesService } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { download } from "../../widgets/table/csv.ts";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { Preview } from "./Preview.tsx";
import style from "./Templates.module.css";

const POSITION = { company: "", role: "", start: "", end: "", description: "" };
const DEGREE = { institution: "", degree: "", year: "" };

/** Makes a curriculum vitae of what is typed; nothing of it is stored. */
export function Cv({ onClose }: { onClose: () => void }) {
  const form = useForm(CvPersonalSchema, { fullName: "", title: "", email: "" });
  const [experience, setExperience] = useState([POSITION]);
  const [education, setEducation] = useState([DEGREE]);
  const [skills, setSkills] = useState("");
  const call = useCall(TemplatesService.method.generateCv, { done: "Curriculum vitae made" });
  const [html, setHtml] = useState<string>();
  const dirty =
    form.changed || skills.trim() !== "" || [...experience, ...education].some((one) => isGiven(given(one)));
  return (
    <Dialog title="Curriculum vitae" open wide dirty={dirty} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ fullName = "", title = "", email = "" }) => {
          const personal = create(CvPersonalSchema, { fullName, ...given({ title, email }) });
          const answer = await call.run({
            personal,
            experience: experience.map(given).filter(isGiven),
            education: education
              .map(given)
              .filter(isGiven)
              .map(({ year, ...degree }) => ({
                ...degree,
                ...(year !== undefined && {
                  year: create(ValueSchema, { kind: { case: "stringValue", value: year } }),
                }),
              })),
            skills: skills
              .split(",")
              .map((skill) => skill.trim())
              .filter((skill) => skill !== ""),
          });
          setHtml(answer?.html);
        })}
      >
        <div className={style["samples"]}>
          <Field form={form} name="fullName" />
          <Field form={form} name="title" />
          <Field form={form} name="email" type="email" />
        </div>
        <Group legend="Experience" entries={experience} empty={POSITION} onChange={setExperience} />
        <Group legend="Education" entries={education} empty={DEGREE} onChange={setEducation} />
        <Input label="Skills" hint="Separated by commas" value={skills} onChange={setSkills} />
        {html !== undefined && (
          <>
            <Preview html={html} title="Curriculum vitae" />
            <div>
              <Button onClick={() => download("curriculum-vitae.html", "text/html;charset=utf-8", html)}>
                Download
              </Button>
            </div>
          </>
        )}
        <SubmitActions call={call} verb="Generate" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

type Entry = Record<string, string>;

interface GroupProps<E extends Entry> {
  legend: string;
  entries: readonly E[];
  empty: E;
  onChange: (entries: E[]) => void;
}

/** Entries of the same kind, with a button that adds one. */
function Group<E extends Entry>({ legend, entries, empty, onChange }: GroupProps<E>) {
  const set = (at: number, name: string, value: string): void =>
    onChange(entries.map((entry, nth) => (nth === at ? { ...entry, [name]: value } : entry)));
  return (
    <fieldset className={style["group"]}>
      <legend>{legend}</legend>
      {entries.map((entry, at) => (
        <div key={at} className={style["samples"]}>
          {Object.keys(empty).map((name) => (
            <Input
              key={name}
              label={inWords(name)}
              value={entry[name] ?? ""}
              onChange={(value) => set(at, name, value)}
              autoComplete="off"
            />
          ))}
        </div>
      ))}
      <div>
        <Button small onClick={() => onChange([...entries, empty])}>
          Add {legend.toLowerCase()}
        </Button>
      </div>
    </fieldset>
  );
}

/** The members that are not empty. */
const given = <E extends object>(entry: E): Partial<E> =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== "")) as Partial<E>;

const isGiven = (entry: object): boolean => Object.keys(entry).length > 0;
