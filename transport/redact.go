package transport

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// minSecret is the least length of a credential. What is shorter is not a secret,
	// and would be found in any text.
	minSecret = 6

	// minPart is how much of a credential's beginning is taken out at least, if a text
	// ends in it. Less of it tells nobody anything.
	minPart = 4

	// longPart is how much of a credential's beginning is taken out at least, anywhere
	// in a text. Less of it may be a word.
	longPart = 12

	// maxHead is how many bytes of a strange body are quoted in an error.
	maxHead = 256
)

const redacted = "REDACTED"

// secretsOf returns what must not be quoted of an Authorization header: the credential,
// and the password inside it. A debugging proxy may send back either one.
func secretsOf(authorization string) [][]byte {
	scheme, credential, ok := strings.Cut(authorization, " ")
	if !ok {
		scheme, credential = "", authorization // a scheme of the caller's own
	}
	secrets := formsOf(credential)
	if strings.EqualFold(scheme, "Basic") {
		plain, _ := base64.StdEncoding.DecodeString(credential)
		_, password, _ := strings.Cut(string(plain), ":")
		secrets = append(secrets, formsOf(password)...)
	}
	if len(secrets) > 0 {
		secrets = append(secrets, encodingsOf(authorization)...)
	}
	return secrets
}

// formsOf returns a secret as it is, in base64 and in hexadecimal. It returns nothing for a
// text that is too short to be a secret, because such a text may stand anywhere.
func formsOf(secret string) [][]byte {
	if len(secret) < minSecret {
		return nil
	}
	forms := append([][]byte{[]byte(secret)}, encodingsOf(secret)...)
	code := hex.EncodeToString([]byte(secret))
	return append(forms, []byte(code), []byte(strings.ToUpper(code)))
}

// encodingsOf returns a text in base64, as a header has it, or a sub-protocol of a WebSocket.
// Padding tells nothing, and is left out.
func encodingsOf(text string) [][]byte {
	inURL, std := base64.RawURLEncoding.EncodeToString([]byte(text)), base64.RawStdEncoding.EncodeToString([]byte(text))
	if inURL == std {
		return [][]byte{[]byte(std)}
	}
	return [][]byte{[]byte(inURL), []byte(std)}
}

// secrets are what no error of an exchange may quote. Errors quote what servers send,
// and a debugging proxy sends the request back, in any form. What redacts logs
// elsewhere goes by the names of fields, which a text of a server does not have.
type secrets struct {
	authorization string   // the header, as it was sent last
	known         [][]byte // what else, such as the password of a proxy
}

func (s *secrets) all() [][]byte {
	return append(secretsOf(s.authorization), s.known...)
}

// redact returns text without the credential. If a text was cut and ends inside the
// credential, that part is taken out, too. No text begins inside the credential: an
// event in JSON begins with a brace, and neither a token (RFC 6750, section 2.1) nor
// base64 has one.
func (s *secrets) redact(text []byte) []byte {
	text = s.redactWhole(text)
	plain := unescape(cutEscape.ReplaceAll(text, nil))
	for _, secret := range s.all() {
		if n := endsIn(text, secret); n >= minPart {
			text = append(bytes.Clone(text[:len(text)-n]), redacted...)
		} else if endsIn(plain, secret) >= minPart {
			return []byte(redacted)
		}
	}
	return text
}

// redactWhole is redact for a text that was not cut here.
func (s *secrets) redactWhole(text []byte) []byte {
	for _, secret := range s.all() {
		text = bytes.ReplaceAll(text, secret, []byte(redacted))
	}
	for _, secret := range s.all() { // two forms may begin alike: none is taken for a part of another
		text = withoutBeginnings(text, secret)
	}
	if plain := unescape(text); len(plain) < len(text) {
		for _, secret := range s.all() {
			if bytes.Contains(plain, secret[:min(len(secret), longPart)]) {
				return []byte(redacted) // all of it: to find the place is not worth the code
			}
		}
	}
	return text
}

// withoutBeginnings returns a text without the beginnings of a secret, because somebody
// may have cut the text before it came here.
func withoutBeginnings(text, secret []byte) []byte {
	if len(secret) <= longPart {
		return text
	}
	var out []byte
	for {
		i := bytes.Index(text, secret[:longPart])
		if i < 0 {
			break
		}
		n := longPart
		for n < len(secret) && i+n < len(text) && text[i+n] == secret[n] {
			n++
		}
		out = append(append(out, text[:i]...), redacted...)
		text = text[i+n:]
	}
	if out == nil {
		return text
	}
	return append(out, text...)
}

// escapes are ways to write a character in JSON, a URL and HTML. cutEscape is the beginning of
// one, where a text was cut.
var (
	escapes   = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\[/"\\]|%[0-9a-fA-F]{2}|&#[0-9]{1,3};|&#[xX][0-9a-fA-F]{1,4};|&(?:quot|apos|amp|lt|gt);`)
	cutEscape = regexp.MustCompile(`(?:\\(?:u[0-9a-fA-F]{0,3})?|%[0-9a-fA-F]?|&(?:#[0-9]{0,3}|#[xX][0-9a-fA-F]{0,4}|[a-z]{0,4}))$`)
)

// entities are the names that HTML has for what must be escaped there.
var entities = map[string]string{"&quot;": `"`, "&apos;": "'", "&amp;": "&", "&lt;": "<", "&gt;": ">"}

// unescape returns a text without the escapes that a credential may be written with.
func unescape(text []byte) []byte {
	if !bytes.ContainsAny(text, `\%&`) {
		return text
	}
	return escapes.ReplaceAllFunc(text, func(e []byte) []byte {
		digits, base := string(e), 16
		if c, ok := entities[digits]; ok {
			return []byte(c)
		}
		switch {
		case len(digits) == 2: // a backslash and what it stands before
			return e[1:]
		case digits[0] == '\\':
			digits = digits[2:]
		case digits[0] == '%':
			digits = digits[1:]
		case digits[2] == 'x' || digits[2] == 'X':
			digits = digits[3 : len(digits)-1]
		default:
			digits, base = digits[2:len(digits)-1], 10
		}
		c, err := strconv.ParseUint(digits, base, 16)
		if err != nil || c >= utf8.RuneSelf {
			return e // no credential has it: see checkToken
		}
		return []byte{byte(c)}
	})
}

// endsIn returns the length of the longest beginning of secret that text ends with.
func endsIn(text, secret []byte) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// quote returns the first bytes of text without the credential, at most bound. It cuts
// last, because a credential that is cut in two would not be found any more.
func (s *secrets) quote(text []byte, bound int) []byte {
	text = s.redact(text[:min(len(text), bound+s.longestSecret())])
	return text[:min(len(text), bound)]
}

// longestSecret is how many bytes must be known beyond the end of a quotation.
func (s *secrets) longestSecret() int {
	longest := 0
	for _, secret := range s.all() {
		longest = max(longest, len(secret))
	}
	return longest
}

// redactError is the last resort, for errors that others have made, such as that of
// net/http for a malformed header. If the credential is in the text of err, the error
// gets another text. errors.Is and errors.As still find what is under it.
func (s *secrets) redactError(err error) error {
	text := err.Error()
	clean := string(s.redactWhole([]byte(text)))
	if clean == text {
		return err
	}
	return &redactedError{text: clean, err: err}
}

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *redactedError) As(target any) bool   { return errors.As(e.err, target) }
