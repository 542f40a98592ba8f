import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'

/** What `docs/site/build.ts` writes: one file for all pages, so that they are never half new. */
export const DOCS_SITE_FILE = join(import.meta.dirname, '../../../docs/site/dist/site.json')

export interface DocsPage {
  /** The address below /docs; empty for /docs itself. */
  name: string
  title: string
  description: string
  /** The heading in the navigation; null for /docs itself. */
  group: string | null
  html: string
  markdown: string
}

/** A part of a page that a search can find. */
export interface DocsSection {
  path: string
  title: string
  heading: string
  text: string
}

/** Texts contain `{site_origin}` and `{base_url}` for the addresses of the installation. */
export interface DocsSite {
  /** Of everything the build depends on. */
  digest: string
  /** The path changes with the content. */
  stylesheet: { path: string; text: string }
  /** In the order of the navigation. */
  pages: DocsPage[]
  sections: DocsSection[]
  /** A document with `{title}` and `{body}`, for answers that are not built. */
  frame: string
}

let site: DocsSite | null = null

/** Read when it is first needed, so that a service that shows no documentation needs no build. */
export function readDocsSite(): DocsSite | null {
  try {
    site ??= JSON.parse(readFileSync(DOCS_SITE_FILE, 'utf8')) as DocsSite
    return site
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return null
  }
}

/** Inserts the addresses of this installation, never the Host header of a request. */
export function fillAddresses(text: string, origin: string): string {
  return text.replaceAll('{site_origin}', origin).replaceAll('{base_url}', `${origin}${BASE_PATH}`)
}

/** The list of the pages for /llms.txt. */
export function listPagesForAgents({ pages }: DocsSite): string {
  const lines = pages.flatMap(({ name, title, description, group }, index) => {
    const path = name === '' ? '/docs.md' : `/docs/${name}.md`
    const line = `- [${title}]({site_origin}${path}): ${description}`
    const isFirst = group !== null && group !== pages[index - 1]?.group
    return isFirst ? ['', `### ${group}`, '', line] : [line]
  })
  return ['', '## Documentation', '', ...lines, ''].join('\n')
}

/** Every page as Markdown in one text, for /llms-full.txt. */
export function joinPagesForAgents({ pages }: DocsSite): string {
  return pages.map(({ markdown }) => markdown.trim()).join('\n\n---\n\n')
}
