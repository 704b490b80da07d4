// Random schemas with random values, and what ajv says of them: one JSON array [schema, values, verdicts] a
// line. `node schema_cases.mjs COUNT SEED`. What ajv 8.20 reads otherwise than the standard is left out, and
// held by the public suite alone:
// - multipleOf in decimals or on large numbers; the empty name in required
// - contains without minContains in a loop, or beside prefixItems, on an empty array
// - unevaluatedItems lets pass every item that contains has looked at, and both unevaluated keywords what a
//   failed `if`, or a failed $ref within anyOf, has: a schema has either those or these
// A verdict of null: ajv's own code threw.
import { createRequire } from 'node:module';

const Ajv = createRequire(import.meta.url)('ajv/dist/2020').default;

const [count, seed] = process.argv.slice(2).map(Number);
let state = seed >>> 0;

// mulberry32
function below(n) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % n;
}

const pick = (list) => list[below(list.length)];
const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const name = () => pick(['a', 'b', 'c', 'ab', 'x/y', '~']);
const scalar = () => pick([null, true, false, 0, 1, 2, 3, 1.5, -1, 1e20, 'a', 'ab', 'abc', '', '🔥ü', '1']);

function value(depth) {
  if (depth === 0 || below(3) === 0) return scalar();
  if (below(5) < 2) return times(below(4), () => value(depth - 1));
  return Object.fromEntries(times(below(4), () => [name(), value(depth - 1)]));
}

const definitions = ['d0', 'd1', 'd2'];

let asksForUnevaluated = false;

// Schemas for the same value only refer to later definitions; below it to any.
function schema(depth, level) {
  if (below(12) === 0) return below(3) !== 0;
  const made = {};
  const inPlace = () => schema(depth - 1, level);
  const inside = () => schema(depth - 1, 0);
  const some = (make) => times(1 + below(3), make);
  const named = (make) => Object.fromEntries(some(() => [name(), make()]));
  const leaves = {
    type: () => pick(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null', ['string', 'null'],
      ['object', 'array']]),
    enum: () => some(() => value(1)),
    const: () => value(1),
    minimum: () => below(3),
    exclusiveMaximum: () => below(4),
    multipleOf: () => pick([1, 2, 0.5]),
    minLength: () => below(3),
    maxLength: () => below(3),
    pattern: () => pick(['^a', 'b$', '^[a-c]*$', '\\d', '^.$', '[^\\s]']),
    minItems: () => below(3),
    maxItems: () => below(4),
    uniqueItems: () => true,
    minProperties: () => below(3),
    maxProperties: () => below(4),
    required: () => [...new Set(some(name))],
    dependentRequired: () => named(() => [...new Set(some(name))]),
  };
  const deep = {
    allOf: () => some(inPlace),
    oneOf: () => some(inPlace),
    not: inPlace,
    dependentSchemas: () => named(inPlace),
    prefixItems: () => some(inside),
    items: inside,
    properties: () => named(inside),
    patternProperties: () => Object.fromEntries(some(() => [pick(['^a', 'b', '.']), inside()])),
    additionalProperties: inside,
    propertyNames: () => schema(0, level),
  };
  const unevaluated = { unevaluatedProperties: inside, unevaluatedItems: inside };
  const conditional = {
    anyOf: () => some(inPlace),
    if: inPlace,
    then: inPlace,
    else: inPlace,
    contains: inside,
    minContains: () => below(3),
    maxContains: () => below(3),
  };
  const keywords = depth > 0 ? { ...leaves, ...deep, ...(asksForUnevaluated ? unevaluated : conditional) } : leaves;
  for (let i = 1 + below(4); i > 0; --i) {
    const keyword = pick(Object.keys(keywords));
    made[keyword] = keywords[keyword]();
  }
  if ('contains' in made) {
    made.minContains ??= 1;
    delete made.prefixItems;
  }
  if (depth > 0 && level < definitions.length && below(4) === 0)
    made.$ref = '#/$defs/' + definitions[level + below(definitions.length - level)];
  return made;
}

const ajv = new Ajv({ strict: false, logger: false });

let out = '';
for (let i = 0; i < count; ++i) {
  asksForUnevaluated = i % 2 === 1;
  const made = schema(3, 0);
  const root = typeof made === 'boolean' ? { allOf: [made] } : made;
  root.$defs = Object.fromEntries(definitions.map((key, at) => [key, schema(2, at + 1)]));
  const validate = ajv.compile(root);
  const values = times(24, () => value(3));
  const verdict = (given) => {
    try {
      return validate(given);
    } catch {
      return null;
    }
  };
  ajv.removeSchema(root);
  out += JSON.stringify([root, values, values.map(verdict)]) + '\n';
}
process.stdout.write(out);
