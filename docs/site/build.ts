import { hash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  DOCS_SITE_FILE,
  type DocsSite,
} from '../../service/program/documents/published-documents.ts'
import type { OpenapiDocument } from './api-reference.ts'
import { API_PAGE, HOME_PAGE, PAGE_GROUPS, REFERENCE_GROUP, SCHEMAS_PAGE } from './site-pages.ts'

/**
 * Builds the documentation that the service serves at /docs into one file, unless it is there
 * already and no source has changed. Runs with `npm ci` and before `npm start`: a build takes less
 * than a second, the check 10 to 50 ms.
 */

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const GUIDES = [HOME_PAGE, ...PAGE_GROUPS.flatMap(({ pages }) => pages)]

/** What the build depends on. The lockfile stands for the version of the Markdown library. */
const SOURCES = [
  'docs/site/*.{ts,css}',
  'contract/openapi.json',
  'design/tokens.css',
  'package-lock.json',
  ...GUIDES.map(({ source }) => source),
]

/** Builds what is missing or stale, by default what the service reads. True when it had to. */
export async function buildDocs(file = DOCS_SITE_FILE): Promise<boolean> {
  const digest = digestSources()
  if (readDigest(file) === digest) return false
  mkdirSync(dirname(file), { recursive: true })
  const staging = `${file}.${process.pid}`
  writeFileSync(staging, JSON.stringify({ ...(await createSite()), digest }))
  renameSync(staging, file)
  return true
}

async function createSite(): Promise<Omit<DocsSite, 'digest'>> {
  const { markdownPath, renderMarkdown } = await import('./render-markdown.ts')
  const { createNavigation, renderDocument } = await import('./site-layout.ts')
  const { splitSections } = await import('./search-sections.ts')
  const stylesheet = `${read('design/tokens.css')}\n${read('docs/site/site.css')}`
  const stylesheetPath = `/docs/assets/${hash('sha256', stylesheet).slice(0, 16)}.css`
  const sources = [...readGuides(), ...(await renderReference())]
  const names = new Map(GUIDES.map(({ source, name }) => [source, name]))
  const rendered = sources.map(({ name, source, text, description }) => ({
    name,
    description,
    ...renderMarkdown({ source, text }, path => names.get(path) ?? null),
  }))
  const labels = new Map(GUIDES.map(({ name, label }) => [name, label]))
  const titles = new Map(rendered.map(({ name, title }) => [name, labels.get(name) ?? title]))
  const navigation = createNavigation(name => titles.get(name) ?? name)
  const frame = { stylesheetPath, navigation }
  return {
    stylesheet: { path: stylesheetPath, text: stylesheet },
    pages: rendered.map(({ name, title, description, html, markdown, headings }) => ({
      name,
      title,
      description,
      group: groupOf(name),
      markdown: withOrigin(markdown),
      html: withOrigin(
        renderDocument({
          ...frame,
          name,
          title,
          headings,
          body: html,
          markdownPath: markdownPath(name),
        }),
      ),
    })),
    sections: rendered.flatMap(({ name, markdown }) =>
      splitSections({ name, title: titles.get(name) ?? name, markdown }),
    ),
    frame: renderDocument({ ...frame, name: null, title: '{title}', body: '{body}' }),
  }
}

function readGuides() {
  return GUIDES.map(guide => ({ ...guide, text: read(guide.source) }))
}

async function renderReference() {
  const { renderApiReference, renderSchemas } = await import('./api-reference.ts')
  const document: OpenapiDocument = JSON.parse(read('contract/openapi.json'))
  return [
    { ...API_PAGE, source: 'contract/openapi.json', text: renderApiReference(document) },
    { ...SCHEMAS_PAGE, source: 'contract/openapi.json', text: renderSchemas(document) },
  ]
}

function groupOf(name: string): string | null {
  if (name === HOME_PAGE.name) return null
  const group = PAGE_GROUPS.find(({ pages }) => pages.some(page => page.name === name))
  return group?.title ?? REFERENCE_GROUP
}

/** The addresses of examples; the service fills its own in. */
function withOrigin(text: string): string {
  return text
    .replaceAll('http://127.0.0.1:3000', '{site_origin}')
    .replaceAll('https://events.example.com', '{site_origin}')
}

function digestSources(): string {
  const paths = globSync(SOURCES, { cwd: ROOT })
    .filter(path => !path.includes('.test.'))
    .sort()
  const digests = paths.map(path => `${path} ${hash('sha256', readFileSync(join(ROOT, path)))}`)
  return hash('sha256', digests.join('\n'))
}

function readDigest(file: string): string | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).digest
  } catch {
    return null
  }
}

if (import.meta.main) {
  const started = performance.now()
  if (await buildDocs()) {
    const seconds = ((performance.now() - started) / 1_000).toFixed(1)
    process.stdout.write(`Built the documentation in ${seconds} s.\n`)
  }
}
