import type { DocsSection } from '../../service/documents/docs-site.ts'
import { headingText, slugOf } from './render-markdown.ts'

interface SearchedPage {
  name: string
  title: string
  markdown: string
}

const FENCE = /```[\s\S]*?```/g
const DIAGRAM = /```mermaid[\s\S]*?```/g
const ADDRESS =
  /http:\/\/127\.0\.0\.1:3000|https:\/\/events\.example\.com|\{(site_origin|base_url)\}/g

/** Splits a page at its headings, for the search. Text without Markdown's marks. */
export function splitSections({ name, title, markdown }: SearchedPage): DocsSection[] {
  const used = new Map<string, number>()
  // A comment in a shell script is no heading.
  const text = markdown
    .replaceAll(DIAGRAM, '')
    .replaceAll(FENCE, block => block.replaceAll(/^#/gm, ' #'))
  return text
    .split(/^(?=#{1,3} )/m)
    .filter(part => part.startsWith('#'))
    .map(part => {
      const [line = '', ...rest] = part.split('\n')
      const heading = headingText(line.replace(/^#+ /, ''))
      const slug = slugOf(heading)
      const repeated = used.get(slug) ?? 0
      used.set(slug, repeated + 1)
      const anchor = line.startsWith('# ') ? '' : `#${slug}${repeated === 0 ? '' : `-${repeated}`}`
      const path = `${name === '' ? '/docs' : `/docs/${name}`}${anchor}`
      return { path, title, heading, text: plainText(rest.join('\n')) }
    })
}

function plainText(markdown: string): string {
  return markdown
    .replaceAll(/^ *```\w*$/gm, ' ')
    .replaceAll(/^\|[ |:-]+\|$/gm, ' ')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/[`*|]|^#+ /gm, ' ')
    .replaceAll(ADDRESS, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
