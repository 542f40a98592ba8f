import type { DocsSection } from '../../service/program/documents/published-documents.ts'
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

/**
 * Splits a page at its headings, for the search. Text without Markdown's marks; that of a subsection
 * ends with the heading above it, by which it is searched too: "422" finds the refusals of 422.
 */
export function splitSections({ name, title, markdown }: SearchedPage): DocsSection[] {
  const used = new Map<string, number>()
  let above = ''
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
      const isSubsection = line.startsWith('### ')
      if (!isSubsection) above = line.startsWith('## ') ? ` (${heading})` : ''
      const content = plainText(rest.join('\n'))
      return { path, title, heading, text: isSubsection ? content + above : content }
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
