// Runs in the browser. The session cookie goes along because the page is of the same origin; the header says that it is
// a page of ours that asks.
const { React, ReactDOM, GraphiQL } = globalThis
const select = document.getElementById('workspace')
const notice = document.getElementById('notice')

async function ask(body) {
  const headers = { 'Content-Type': 'application/json', 'X-Yardmaster-Console': '1' }
  if (select.value !== '') headers['X-Service-Workspace'] = select.value
  const response = await fetch('/graphql', {
    method: 'POST',
    headers,
    credentials: 'same-origin',
    body: JSON.stringify(body),
  })
  notice.textContent = response.status === 401 ? 'You are signed out: sign in again and reload this page.' : ''
  return response.json()
}

async function listWorkspaces() {
  const { data } = await ask({ query: '{ me { workspaces { uid name } } }' })
  const workspaces = data?.me?.workspaces ?? []
  for (const { uid, name } of workspaces) select.append(new Option(`${name} (${uid})`, uid))
  const kept = sessionStorage.getItem('workspace')
  const first = workspaces.find(({ uid }) => uid === kept) ?? workspaces[0]
  if (first !== undefined) select.value = first.uid
  select.addEventListener('change', () => sessionStorage.setItem('workspace', select.value))
}

listWorkspaces()
  .catch(() => {
    notice.textContent = 'The service does not answer: reload this page in a moment.'
  })
  .finally(() => {
    ReactDOM.createRoot(document.getElementById('graphiql')).render(
      React.createElement(GraphiQL, {
        fetcher: ask,
        defaultQuery:
          '# Who you are, and where\n{\n  me {\n    email\n    workspaces {\n      uid\n      name\n    }\n  }\n}\n',
        shouldPersistHeaders: false,
        isHeadersEditorEnabled: false,
      }),
    )
  })
