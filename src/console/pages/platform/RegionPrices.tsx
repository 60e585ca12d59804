import { create } from "@bufbuild/protobuf";
import { RegionPriceSchema } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import type { RegionPrice } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { FieldError, Input } from "../../widgets/form/Field.tsx";
import { faultOf } from "../../widgets/form/rules.ts";
import style from "./Platform.module.css";

const EMPTY = { region: "", currency: "", unitAmountCents: "", taxPercent: "" };

/** The price of a region as it is typed, by the local names of its fields. */
export type RegionRow = typeof EMPTY;

const LABELS = {
  region: "Region",
  currency: "Currency",
  unitAmountCents: "Minor units",
  taxPercent: "Tax in percent",
} as const satisfies RegionRow;

const NAMES = Object.keys(LABELS) as (keyof RegionRow)[];

/** A typed number; undefined when the field is empty, which `Number` would take for 0. */
export const numberIn = (text: string): number | undefined => (text.trim() === "" ? undefined : Number(text));

/** Whether anything is typed in a row: an empty one is no region. */
export const isTyped = (row: RegionRow): boolean => NAMES.some((name) => row[name].trim() !== "");

export function regionPriceOf(row: RegionRow): RegionPrice {
  const [unitAmountCents, taxPercent] = [numberIn(row.unitAmountCents), numberIn(row.taxPercent)];
  return create(RegionPriceSchema, {
    region: row.region.trim().toUpperCase(),
    currency: row.currency.trim().toLowerCase(),
    ...(unitAmountCents !== undefined && { unitAmountCents }),
    ...(taxPercent !== undefined && { taxPercent }),
  });
}

/** What is wrong with the price of a region, by field. */
export function faultsOf(price: RegionPrice): Partial<RegionRow> {
  const faults = NAMES.map((name) => [name, faultOf(RegionPriceSchema.field[name], price[name])] as const);
  return Object.fromEntries(faults.filter(([, fault]) => fault !== undefined));
}

interface RegionPricesProps {
  rows: readonly RegionRow[];
  onChange: (rows: readonly RegionRow[]) => void;
  /** Whether faults are shown: from the first attempt to send the form. */
  isChecked: boolean;
  /** Why the service refused a region. */
  fault: string | undefined;
}

/** Prices of regions, a row each. */
export function RegionPrices({ rows, onChange, isChecked, fault }: RegionPricesProps) {
  return (
    <fieldset className={style["regions"]}>
      <legend>Prices of regions</legend>
      {rows.map((row, at) => {
        const faults = isChecked && isTyped(row) ? faultsOf(regionPriceOf(row)) : {};
        return (
          <div key={at} className={style["fields"]}>
            {NAMES.map((name) => (
              <Input
                key={name}
                label={`${LABELS[name]} of row ${at + 1}`}
                value={row[name]}
                onChange={(value) => onChange(rows.map((one, nth) => (nth === at ? { ...one, [name]: value } : one)))}
                error={faults[name]}
                autoComplete="off"
              />
            ))}
          </div>
        );
      })}
      {fault !== undefined && <FieldError role="alert">{fault}</FieldError>}
      <div>
        <Button small onClick={() => onChange([...rows, EMPTY])}>
          Add region
        </Button>
      </div>
    </fieldset>
  );
}
