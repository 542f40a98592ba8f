import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CASES,
  type NormalizationCase,
  type Outcome,
  type Recording,
  UNSUPPORTED,
} from './cases.ts'
import { applyRudderRule } from './rudder-rules.ts'
import { createJavaSdk, createPythonSdk, JAVA_SDK, PYTHON_SDK } from './run-other-languages.ts'

/**
 * `npm run normalization:record` installs the other implementations into a temporary folder, gives
 * them every case and writes `vectors/implementations.json`. It is run by hand, because it needs
 * npm, pip and the registries; the page and its test need the recording alone.
 */
const PACKAGES = {
  sdk: ['facebook-nodejs-business-sdk', '24.0.1'],
  builder: ['capi-param-builder-nodejs', '1.3.2'],
  browser: ['meta-capi-param-builder-clientjs', '1.3.1'],
  segment: ['@segment/action-destinations', '3.497.0'],
} as const

type Normalize = (one: NormalizationCase) => Outcome

const RECORDING_PATH = join(import.meta.dirname, 'vectors/implementations.json')

async function recordImplementations(folder: string): Promise<Recording> {
  const load = installNpmPackages(folder)
  const normalizers: Record<string, Normalize> = {
    sdk: createSdk(load),
    builder: createParameterBuilder(
      load('capi-param-builder-nodejs/src/piiUtil/PIIUtil.js') as ParameterBuilder,
    ),
    browser: createParameterBuilder(await loadBrowserBuilder(folder)),
    python: createPythonSdk(folder),
    java: createJavaSdk(folder),
    segment: createSegment(folder),
    rudder: applyRudderRule,
  }
  const results = CASES.map(one => {
    const outcomes = Object.entries(normalizers).map(([id, run]) => [id, run(one)])
    return { field: one.field, input: one.input, outcomes: Object.fromEntries(outcomes) }
  })
  return { recordedOn: new Date().toISOString().slice(0, 10), implementations: SOURCES, results }
}

const SOURCES: Recording['implementations'] = [
  {
    id: 'sdk',
    name: 'Meta SDK',
    short: 'SDK',
    version: PACKAGES.sdk.join(' '),
    source: 'npm, run',
  },
  {
    id: 'builder',
    name: 'Parameter Builder',
    short: 'Builder',
    version: PACKAGES.builder.join(' '),
    source: "npm, run; what Meta's SDK calls from version 26.0.0 on, which is not on npm yet",
  },
  {
    id: 'browser',
    name: 'Parameter Builder for browsers',
    short: 'Browser Builder',
    version: PACKAGES.browser.join(' '),
    source: 'npm, run',
  },
  {
    id: 'python',
    name: 'Meta SDK for Python',
    short: 'Python SDK',
    version: PYTHON_SDK.join(' '),
    source: 'PyPI, run',
  },
  {
    id: 'java',
    name: 'Meta SDK for Java',
    short: 'Java SDK',
    version: JAVA_SDK.slice(1).join(' '),
    source: 'Maven Central, run',
  },
  {
    id: 'segment',
    name: 'Segment',
    short: 'Segment',
    version: PACKAGES.segment.join(' '),
    source: 'npm, run: `normalize_user_data` of `facebook-conversions-api`',
  },
  {
    id: 'rudder',
    name: 'RudderStack',
    short: 'RudderStack',
    version: 'rudder-transformer, August 2026',
    source: 'read, not run: `FBCUserDataConfig.json` and the functions that it names',
  },
]

type Load = (name: string) => unknown

/** Scripts of packages do not run. The package of Segment is unpacked without its dependencies. */
function installNpmPackages(folder: string): Load {
  const npm = (...parameters: string[]) => execFileSync('npm', parameters, { cwd: folder })
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  const { sdk, builder, browser } = PACKAGES
  const direct = [sdk, builder, browser].map(([name, version]) => `${name}@${version}`)
  npm(
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    ...direct,
    'lodash@4.18.1',
    'core-js-pure@3.46.0',
  )
  const [segment, version] = PACKAGES.segment
  const archive = npm('pack', '--silent', `${segment}@${version}`).toString().trim()
  execFileSync('tar', ['xzf', archive], { cwd: folder })
  return createRequire(join(folder, 'package.json'))
}

/** The SDK hashes with its dependency `js-sha256`, where the text is intercepted. */
function createSdk(load: Load): Normalize {
  const require = load as NodeJS.Require
  const path = require.resolve('js-sha256')
  const sha256 = require(path)
  let hashed: string | null = null
  const entry = require.cache[path] as NodeJS.Module
  entry.exports = (text: string) => {
    hashed = text
    return sha256(text)
  }
  const { UserData } = require('facebook-nodejs-business-sdk')
  return ({ field, input }) => {
    const setter = SDK_SETTERS[field] as string
    hashed = null
    return attempt(() => {
      const user = new UserData()
      user[setter](SINGLE_VALUES.has(field) ? input : [input])
      const member: string | string[] | undefined = user.normalize()[field]
      const [sent] = [member ?? []].flat()
      if (sent === undefined || sent === null) return null
      return hashed === null ? { kept: String(sent) } : hashed
    })
  }
}

const SINGLE_VALUES = new Set(['fi', 'f5first', 'f5last', 'doby', 'dobm', 'dobd', 'app_user_id'])

const SDK_SETTERS: Record<string, string> = {
  em: 'setEmails',
  ph: 'setPhones',
  fn: 'setFirstNames',
  ln: 'setLastNames',
  db: 'setDatesOfBirth',
  ge: 'setGenders',
  ct: 'setCities',
  st: 'setStates',
  zp: 'setZips',
  country: 'setCountries',
  external_id: 'setExternalIds',
  fi: 'setFi',
  f5first: 'setF5First',
  f5last: 'setF5Last',
  doby: 'setDoby',
  dobm: 'setDobm',
  dobd: 'setDobd',
  app_user_id: 'setAppUserId',
}

const BUILDER_TYPES: Record<string, string> = {
  em: 'email',
  ph: 'phone',
  fn: 'first_name',
  ln: 'last_name',
  db: 'date_of_birth',
  ge: 'gender',
  ct: 'city',
  st: 'state',
  zp: 'zip_code',
  country: 'country',
  external_id: 'external_id',
}

type ParameterBuilder = Record<
  'getNormalizedPII' | 'getNormalizedAndHashedPII',
  (value: unknown, type: string) => string | null
>

/** Its sources import parts of core-js without the ending that Node.js wants. */
async function loadBrowserBuilder(folder: string): Promise<ParameterBuilder> {
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier.startsWith('core-js-pure/') ? `${specifier}.js` : specifier, context),
  })
  const [name] = PACKAGES.browser
  return import(join(folder, 'node_modules', name, 'shared/utils/piiUtil/piiUtil.js'))
}

function createParameterBuilder(builder: ParameterBuilder): Normalize {
  return ({ field, input }) => {
    const type = BUILDER_TYPES[field]
    if (type === undefined) return UNSUPPORTED
    return attempt(() => {
      const sent = builder.getNormalizedAndHashedPII(input, type) ?? null
      if (sent === null) return null
      const isKept = /^[0-9a-f]{64}$|^[0-9a-f]{32}$/i.test(String(input).trim())
      if (isKept) return { kept: String(input).trim().toLowerCase() }
      return builder.getNormalizedPII(input, type)
    })
  }
}

const SEGMENT_NAMES: Record<string, string> = {
  em: 'email',
  ph: 'phone',
  fn: 'firstName',
  ln: 'lastName',
  db: 'dateOfBirth',
  ge: 'gender',
  ct: 'city',
  st: 'state',
  zp: 'zip',
  country: 'country',
  external_id: 'externalId',
}

function createSegment(folder: string): Normalize {
  const destination = 'package/dist/destinations/facebook-conversions-api'
  const require = createRequire(join(folder, 'package.json'))
  const { normalize_user_data: normalize } = require(
    join(folder, destination, 'fb-capi-user-data.js'),
  )
  return ({ field, input }) => {
    const name = SEGMENT_NAMES[field]
    if (name === undefined) return UNSUPPORTED
    return attempt(() => {
      const user_data: Record<string, unknown> = { [name]: input }
      normalize({ user_data })
      const [text] = [user_data[name]].flat()
      // It hashes only text, because a number has no length.
      if (typeof text !== 'string' || text.trim() === '') return null
      return /^[a-f0-9]{64}$/i.test(text) ? { kept: text } : text
    })
  }
}

function attempt(run: () => Outcome | undefined): Outcome {
  try {
    return run() ?? null
  } catch {
    return { error: true }
  }
}

function formatRecording({ results, ...head }: Recording): string {
  const lines = results.map(result => `    ${JSON.stringify(result)}`).join(',\n')
  const start = JSON.stringify(head, null, 2).replace(/\n\}$/, '')
  return `${start},\n  "results": [\n${lines}\n  ]\n}\n`
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'normalization-'))
  try {
    const recording = await recordImplementations(folder)
    writeFileSync(RECORDING_PATH, formatRecording(recording))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
