// The words of the project that a page shows, as docs/glossary.md has them.
const words = {
  'resume version': 'the version up to which the client has everything; its next watch begins there, or a few events earlier',
  bookmark: 'an event without an object: the client has everything up to its version',
  'initial events': 'the whole state at the start of a watch, in place of a list',
  opening: 'the watch was sent, and is not answered',
  backoff: 'the time between a failure and the next request; in a trace its random part is usually 0',
  'no watch since': 'a request failed then, and every watch since has failed within ten seconds and without an event',
  relist: 'a list after the first',
  inferred: 'no event reported this deletion: a list lacks the object, or has another one of that name',
  quarantine: 'objects whose latest state the client may lack',
  refetch: 'a list of one object',
  'history check': 'a question: does the server still have the history of what the client holds?',
  verification: 'the comparison of all that the client holds with the server',
  resync: 'every object is handed over once more, without a request',
  synced: 'the whole first list was handed over',
  expired: 'the server no longer has the events after a version (410)',
  tooLarge: 'the server has not reached a version yet',
  'Too large resource version': 'the same, in the words of the server',
  problem: 'what a client reports to its user',
  Replaced: 'an object of a list is handed over',
  Listed: 'the same, in the words of a naive client',
  MissedDeletion: 'no event reported this deletion: the naive client hands it over as another type than a deletion that it was sent',
  'rv=': 'the version of a list',
  '< 101': 'the server accepts a watch over WebSocket',
  '< close 1000': 'the server ends the WebSocket in good order',
  '< eof': 'the server ends its answer in good order',
  '< cut': 'the connection breaks',
  sleep: 'time passes',
};

// explain shows what the words of a text mean.
function explain(text) {
  const found = Object.keys(words).filter(word => text.toLowerCase().includes(word.toLowerCase()));
  $('words').hidden = found.length === 0;
  $('words').firstElementChild.textContent = 'Words here: ' + found.join(', ');
  $('words').lastElementChild.replaceChildren(...found.map(word => node('div', '', node('dt', '', word), node('dd', '', words[word]))));
}
