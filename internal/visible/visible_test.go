package visible

import "testing"

func TestWhatATerminalObeysIsEscaped(t *testing.T) {
	for _, tt := range []struct{ text, oneLine, lines string }{
		{"plain text, größer", "plain text, größer", "plain text, größer"},
		{"one\n\ttwo", "one  two", "one\n\ttwo"},
		{"\x1b[2Jgone", `\x1b[2Jgone`, `\x1b[2Jgone`},
		{"over\rwritten", `over\rwritten`, `over\rwritten`},
		{"\u009b2J \u202etxt", `\u009b2J \u202etxt`, `\u009b2J \u202etxt`},
		{"bad \xff byte", `bad \ufffd byte`, `bad \xff byte`},
	} {
		if got := OneLine(tt.text); got != tt.oneLine {
			t.Errorf("OneLine(%q) = %q, want %q", tt.text, got, tt.oneLine)
		}
		if got := Lines(tt.text); got != tt.lines {
			t.Errorf("Lines(%q) = %q, want %q", tt.text, got, tt.lines)
		}
	}
}
