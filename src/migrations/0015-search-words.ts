import { defineMigration } from "../platform/db/migrator.ts";

/**
 * What is between words: all of ASCII but letters and digits, and the blanks and punctuation of Latin-1 and Unicode.
 */
const ascii = String.raw`\u0001-\u002f\u003a-\u0040\u005b-\u0060`;
const latin = String.raw`\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf`;
const unicode = String.raw`\u1680\u2000-\u206f\u3000-\u303f\uff00-\uff0f`;
const between = `[${ascii}${latin}${unicode}]+`;

/**
 * The words of a text in lower case, apart by spaces; applied to what is searched and to what is searched for alike.
 * Left to the parser of the full text search, `Node.js` or `1.5` would be one word (a host, a number) that nobody finds
 * by `js`. The collation is named, since the database's own may fold ASCII alone: PostgreSQL's from 17 on, before that
 * ICU's.
 */
const words = `
  do $do$
  declare
    folding text := (
      select quote_ident(collname) from pg_collation where collname in ('pg_c_utf8', 'und-x-icu', 'default')
      order by array_position(array['pg_c_utf8', 'und-x-icu', 'default'], collname::text) limit 1
    );
  begin
    execute format($make$
      create function catalogue_words(text text) returns text
        language sql immutable strict parallel safe
        return regexp_replace(lower(normalize(text, NFKC) collate pg_catalog.%s), '${between}', ' ', 'g')
    $make$, folding);
  end $do$;
`;

/** Every word of a search, as the beginning of a word; null where there is none. */
const query = `
  create function catalogue_query(text text) returns tsquery
    language sql immutable strict parallel safe
    return (
      select to_tsquery('simple', string_agg('''' || word || ''':*', ' & '))
      from (
        select word from regexp_split_to_table(catalogue_words(text), ' ') as word where word <> '' limit 16
      ) as searched
    );
`;

const column = `
  alter table apps drop column search;
  alter table apps add column search tsvector not null generated always as (
    setweight(to_tsvector('simple', catalogue_words(name)), 'A') ||
    setweight(to_tsvector('simple', catalogue_words(slug)), 'B') ||
    setweight(to_tsvector('simple', catalogue_words(description)), 'C')
  ) stored;
  create index apps_search on apps using gin (search) where status = 'published';
`;

/** Searching the catalogue by the words people see. */
export const searchWords = defineMigration("0015-search-words", [words, query, column]);
