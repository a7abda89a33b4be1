package servertrace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// read sends a request, and notes its answer, until that ends.
func (r *run) read(a *asked, req *http.Request) error {
	resp, err := r.server.Read(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !req.URL.Query().Has("watch") {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		lines, token, err := answer(resp, body)
		r.mu.Lock()
		a.token = token
		r.mu.Unlock()
		if err == nil {
			r.note(a, lines...)
		}
		return err
	}
	r.note(a, "200 watch")
	body := bufio.NewReader(resp.Body)
	for {
		frame, err := body.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(frame) == 0:
			r.note(a, "eof")
			return nil
		case err != nil:
			return err
		}
		text, err := event(frame)
		if err != nil {
			return err
		}
		r.note(a, text)
	}
}

// answer returns the lines of a whole answer, and its continue token.
func answer(resp *http.Response, body []byte) (lines []string, token string, err error) {
	if resp.StatusCode != http.StatusOK {
		text, token, err := status(body, resp.Header.Get("Retry-After"))
		return []string{text}, token, err
	}
	var list struct {
		Metadata metav1.ListMeta  `json:"metadata"`
		Items    []jsontext.Value `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, "", err
	}
	text := "200 list rv=" + list.Metadata.ResourceVersion + continues(list.Metadata)
	if n := list.Metadata.RemainingItemCount; n != nil {
		text += fmt.Sprintf(" remaining=%d", *n)
	}
	lines = []string{text}
	for _, item := range list.Items {
		text, err := object(item)
		if err != nil {
			return nil, "", err
		}
		lines = append(lines, "\t"+text)
	}
	return lines, list.Metadata.Continue, nil
}

func continues(l metav1.ListMeta) string {
	if l.Continue == "" {
		return ""
	}
	return " continue"
}

// event returns the line of an event of a watch.
func event(frame []byte) (text string, err error) {
	var e struct {
		Type   string         `json:"type"`
		Object jsontext.Value `json:"object"`
	}
	if err := json.Unmarshal(frame, &e); err != nil {
		return "", err
	}
	if e.Type == "ERROR" {
		text, _, err = status(e.Object, "")
	} else {
		text, err = object(e.Object)
	}
	return e.Type + " " + text, err
}

// object returns an object as a trace has it: its name and version, and what an author has given it.
// That of a bookmark has no name.
func object(data []byte) (string, error) {
	shown := map[string]any{}
	var named struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := errors.Join(json.Unmarshal(data, &shown), json.Unmarshal(data, &named)); err != nil {
		return "", err
	}
	delete(shown, "kind")
	delete(shown, "apiVersion")
	delete(shown, "metadata")
	meta := map[string]any{}
	if len(named.Metadata.Labels) > 0 {
		meta["labels"] = named.Metadata.Labels
	}
	if len(named.Metadata.Annotations) > 0 {
		meta["annotations"] = named.Metadata.Annotations
	}
	if len(meta) > 0 {
		shown["metadata"] = meta
	}
	return withJSON(named.Metadata.Name+"@"+named.Metadata.ResourceVersion, shown), nil
}

// status returns the words of a Status, and the token with which a list continues.
func status(data []byte, retryAfter string) (text, token string, err error) {
	var s metav1.Status
	if err := json.Unmarshal(data, &s); err != nil {
		return "", "", err
	}
	text = fmt.Sprintf("%d %s %s", s.Code, s.Reason, strconv.Quote(s.Message)) + continues(s.ListMeta)
	if retryAfter != "" {
		text += " retry-after=" + retryAfter
	}
	details := map[string]any{}
	if s.Details != nil && len(s.Details.Causes) > 0 {
		details["causes"] = s.Details.Causes
	}
	return withJSON(text, details), s.Continue, nil
}

// withJSON adds members, if there are any.
func withJSON(text string, members map[string]any) string {
	if len(members) == 0 {
		return text
	}
	data, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		panic("servertrace: unreachable: what was decoded can be encoded: " + err.Error())
	}
	return text + " " + string(data)
}
