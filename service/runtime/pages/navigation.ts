import {
  NAVIGATION_GROUPS,
  type NavigationEntry,
  navigationPath,
} from '@signalbox/design/navigation.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import { Validator } from '../http/validator.ts'
import type { ListPage } from '../util/list-page.ts'

export interface WorkspaceNavigation {
  workspaceId: number
  workspaceName: string
  /** The entries that the role of the person may open. */
  entries: readonly NavigationEntry[]
  /** The entry of the page that is shown. */
  current: NavigationEntry | undefined
  /** Proposals that wait for a decision. */
  pendingApprovals: number
}

/**
 * The navigation of a workspace. Wide screens show every group beside the page. Narrow ones show
 * the groups in one line, and the pages of the current group in a second line, which scrolls.
 * Returns HTML.
 */
export function workspaceNavigation(navigation: WorkspaceNavigation): string {
  const { workspaceName, entries, current } = navigation
  const groups = Object.entries(NAVIGATION_GROUPS)
    .map(([key, label]) => ({
      label,
      entries: entries.filter(({ group }) => group === key),
      isCurrent: current?.group === key,
    }))
    .filter(group => group.entries.length > 0)
  return html`<nav class="workspace" aria-label="Workspace">
<p><a class="switch" href="/workspaces" title="All workspaces">${workspaceName}</a></p>
<ul class="groups" aria-label="Groups">
!${groups.map(group => groupLink(group, navigation)).join('')}</ul>
!${groups.map(group => groupEntries(group, navigation)).join('')}
</nav>`
}

interface Group {
  label: string
  entries: readonly NavigationEntry[]
  isCurrent: boolean
}

/** For narrow screens: opens the first page of a group. */
function groupLink({ label, entries, isCurrent }: Group, navigation: WorkspaceNavigation): string {
  const [first] = entries
  if (!first) return ''
  const mark = isCurrent ? ' aria-current="true"' : ''
  const pending = !isCurrent && entries.some(isApprovals) ? count(navigation) : ''
  return html`<li><a href="${navigationPath(first, navigation.workspaceId)}"!${mark}>${label}
!${pending}</a></li>`
}

function groupEntries({ label, entries, isCurrent }: Group, navigation: WorkspaceNavigation) {
  const id = `navigation-${label.toLowerCase()}`
  return html`<div class="group!${isCurrent ? ' current' : ''}">
<p id="${id}">${label}</p>
<ul aria-labelledby="${id}">
!${entries.map(entry => entryLink(entry, navigation)).join('')}</ul>
</div>`
}

function entryLink(entry: NavigationEntry, navigation: WorkspaceNavigation): string {
  const mark = entry === navigation.current ? ' aria-current="page"' : ''
  const pending = isApprovals(entry) ? count(navigation) : ''
  return html`<li><a href="${navigationPath(entry, navigation.workspaceId)}"!${mark}>${entry.label}
!${pending}</a></li>`
}

function isApprovals({ path }: NavigationEntry): boolean {
  return path === '/w/:workspace/approvals'
}

/** More are shown as "99+". */
export const PENDING_APPROVALS_MAX = 99

function count({ pendingApprovals }: WorkspaceNavigation): string {
  if (pendingApprovals === 0) return ''
  const isMore = pendingApprovals > PENDING_APPROVALS_MAX
  const text = isMore ? `${PENDING_APPROVALS_MAX}+` : String(pendingApprovals)
  return html`<span class="count">${text}<span class="unseen"> pending</span></span>`
}

/** Links to the pages before and after. Empty for a list of one page. Returns HTML. */
export function pageLinks({ page, hasMore }: Omit<ListPage<unknown>, 'rows'>, path: string) {
  if (page === 1 && !hasMore) return ''
  const before = html`<a href="${path}?page=${page - 1}" rel="prev">Previous</a>`
  const after = html`<a href="${path}?page=${page + 1}" rel="next">Next</a>`
  return html`<nav class="actions part" aria-label="Pages">
!${page > 1 ? before : ''} !${hasMore ? after : ''}</nav>`
}

const noticeQuery = new Validator(Type.Object({ done: Type.Optional(Type.String()) }))

/**
 * What pages confirm after a form: one of these sentences, by its code in the query. A link cannot
 * make a page show any other text.
 */
export class Notices<Code extends string> {
  readonly #sentences: Readonly<Record<Code, string>>

  constructor(sentences: Readonly<Record<Code, string>>) {
    this.#sentences = sentences
  }

  /** The address of a page that shows the notice. */
  addTo(path: string, code: NoInfer<Code>): string {
    return `${path}?done=${code}`
  }

  /** The notice that a query names, if any. */
  find(query: unknown): string | undefined {
    const { done } = noticeQuery.pickValid(query)
    return done !== undefined && this.#has(done) ? this.#sentences[done] : undefined
  }

  #has(code: string): code is Code {
    return Object.hasOwn(this.#sentences, code)
  }
}
