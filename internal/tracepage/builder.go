package tracepage

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Mark is one line of the sequence diagram.
type Mark struct {
	Step   int    `json:"step"`
	At     string `json:"at"`
	Kind   string `json:"kind"` // request, answer, event, end, ping, note, pop, command, backoff or phase
	To     string `json:"to"`   // server, client, or "" if it stays in the client
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
	Fault  bool   `json:"fault,omitempty"`

	at time.Duration
}

// span is a request that is open: from its mark to the mark that ends it.
type span struct {
	from, to int // of Recording.Marks; to is -1 while the request is open
	lane     int // how many others are open beside it
	watch    bool
	started  bool // a part of the answer was sent
}

// builder makes a Recording of lines, one by one.
type builder struct {
	*Recording

	now      time.Duration
	begun    time.Duration // when the step began
	first    int           // the mark with which the step begins
	asked    int           // the mark of the last request
	versions map[string]string
	synced   bool
	phase    string // of the machine, as the marks show it
}

func (b *builder) begin(s Step) {
	b.end()
	b.Steps = append(b.Steps, s)
	b.first, b.begun = len(b.Marks), b.now
	if s.Unasked == "" {
		b.stimulus(s.Text[0])
	}
}

// end completes a step: it inserts the marks of the machine, and lets the time of the stimulus
// pass.
func (b *builder) end() {
	if len(b.Steps) == 0 {
		return
	}
	s := &b.Steps[len(b.Steps)-1]
	word, rest, _ := strings.Cut(s.Text[0], " ")
	if d, err := time.ParseDuration(rest); err == nil && (word == "sleep" || word == "wait" && len(s.Came) == 0) {
		b.now = max(b.now, b.begun+d)
	}
	b.now = max(b.now, s.End)
	s.At = Clock(b.now)
	b.machineMarks(s)
	if strings.HasPrefix(s.Text[0], "restart") {
		b.synced = b.synced && s.Text[0] == "restart"
		b.versions = map[string]string{}
		for _, object := range s.Store {
			key, version, _ := strings.Cut(object, "@")
			b.versions[key] = version
		}
	}
}

// The clients of a server that was away spread their lists evenly over this time, as package
// protocol has it. That delay alone can be zero.
const (
	spread  = 7 * time.Second
	noDelay = "backoff 0s"
)

// machineMarks inserts a mark for each backoff, and for each phase in which the machine was at the
// end of an instant or had to wait.
func (b *builder) machineMarks(s *Step) {
	for i, row := range s.Rows {
		at := b.first
		for at < len(b.Marks) && b.Marks[at].at <= row.Time {
			at++
		}
		m := Mark{Kind: "backoff", Text: "backoff " + Clock(row.Delay), Detail: "(" + row.Reason + ")", at: row.Time}
		waited := row.Reason != "" && m.Text == noDelay
		if waited && at > b.first && b.Marks[at-1].Kind == "request" {
			at-- // which follows the delay
		}
		if last := i+1 == len(s.Rows) || s.Rows[i+1].Time > row.Time || waited; last && row.Phase != b.phase {
			after := at
			for after > b.first && b.Marks[after-1].at == row.Time && (b.Marks[after-1].Kind == "note" || b.Marks[after-1].Kind == "pop") {
				after-- // the phase belongs to the request or the answer above
			}
			b.insert(after, Mark{Kind: "phase", Text: row.Phase, at: row.Time})
			b.phase = row.Phase
			at++
		}
		if row.Reason != "" {
			b.insert(at, m)
		}
	}
}

func (b *builder) insert(at int, m Mark) {
	m.Step, m.At = len(b.Steps)-1, Clock(m.at)
	b.Marks = slices.Insert(b.Marks, at, m)
	for i := range b.spans {
		if s := &b.spans[i]; s.from >= at {
			s.from++
		}
		if s := &b.spans[i]; s.to >= at {
			s.to++
		}
	}
}

func (b *builder) mark(m Mark) {
	m.at, m.At, m.Step = b.now, Clock(b.now), len(b.Steps)-1
	b.Marks = append(b.Marks, m)
}

// item takes an object of the list above.
func (b *builder) item(text string) {
	s := &b.Steps[len(b.Steps)-1]
	s.Text = append(s.Text, text)
	if s.Unasked != "" {
		return
	}
	object, _, _ := strings.Cut(text, " ")
	b.Marks[len(b.Marks)-1].Detail += " " + object
}

// came takes a line of the run. rest is what follows it in the file.
func (b *builder) came(text string, rest []string) {
	s := &b.Steps[len(b.Steps)-1]
	s.Came = append(s.Came, text)
	said := text[2:]
	switch text[0] {
	case '~':
		d, _ := time.ParseDuration(said) // a run writes nothing else
		b.now += d
	case '!':
		class, key, _ := strings.Cut(said, " ")
		b.mark(Mark{Kind: "note", Text: "problem: " + class, Detail: key, Fault: true})
	case '=':
		b.entry(s, said)
	default:
		b.sent(said, rest)
	}
}

// deltas begin the second part of an entry. What a whole program says of itself has none.
var deltas = regexp.MustCompile(`^(Added|Updated|Deleted|Replaced|Sync)@`)

// entry takes what the consumer got, or what the client says of itself.
func (b *builder) entry(s *Step, said string) {
	switch key, rest, _ := strings.Cut(said, " "); {
	case key == "store":
	case said == "synced":
		b.synced = true
		b.mark(Mark{Kind: "note", Text: "synced"})
	case said == "stopped":
		b.mark(Mark{Kind: "command", Text: "stopped"})
	default:
		b.mark(Mark{Kind: "pop", Text: short(key), Detail: strings.ReplaceAll(rest, "(final state unknown)", "inferred")})
		switch {
		case b.Machine && deltas.MatchString(rest):
			s.Calls = append(s.Calls, b.calls(key, strings.ReplaceAll(rest, " (final state unknown)", "?"))...)
		case b.Machine:
			s.Calls = append(s.Calls, said)
		}
	}
}

// calls returns the callbacks that an informer with one handler makes for an entry, in one line
// each. An inferred deletion ends with a question mark.
func (b *builder) calls(key, deltas string) []string {
	old, known := b.versions[key]
	version, there, gone, typ := old, known, "", ""
	for delta := range strings.FieldsSeq(deltas) {
		var v string
		typ, v, _ = strings.Cut(delta, "@")
		if typ == "Deleted" {
			if known && gone == "" {
				gone = v
			}
			there = false
			continue
		}
		version, there = v, true
	}
	delete(b.versions, key)
	if there {
		b.versions[key] = version
	}
	var calls []string
	if gone != "" {
		final, inferred := strings.CutSuffix(gone, "?")
		calls = append(calls, "OnDelete("+key+"@"+final+map[bool]string{true: ", inferred"}[inferred]+")")
	}
	switch {
	case !there && gone == "":
		calls = append(calls, "no callback: "+key+" came and went")
	case !there:
	case !known || gone != "":
		initial := map[bool]string{true: ", initial"}[!b.synced && typ == "Replaced"]
		calls = append(calls, "OnAdd("+key+"@"+version+initial+")")
	case version == old && typ != "Sync":
		calls = append(calls, "no callback: "+key+"@"+version+" has not changed")
	default:
		calls = append(calls, "OnUpdate("+key+"@"+old+" → @"+version+")")
	}
	return calls
}

// short returns a key without the namespace of most traces.
func short(key string) string { return strings.TrimPrefix(key, "default/") }
