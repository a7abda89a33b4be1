package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/relist-go/relist/internal/must"
)

// browser starts a Chromium without a window, and returns the context of a tab and what its console
// complains of. hear gets its other events.
func browser(t *testing.T, hear ...func(event any)) (context.Context, func() []string) {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil {
			program = at
			break
		}
	}
	if program == "" {
		t.Fatal("there is no Chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var complaints []string
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch event := event.(type) {
		case *runtime.EventConsoleAPICalled:
			complaints = append(complaints, fmt.Sprint("console.", event.Type))
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, event.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			complaints = append(complaints, event.Entry.Text)
		default:
			for _, f := range hear {
				f(event)
			}
		}
	}))
	t.Cleanup(cancel)
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		said := complaints
		complaints = nil
		return said
	}
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	must.OK(t, chromedp.Do(ctx, actions...))
}

func get[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(ctx, action)
	must.OK(t, err)
	return value
}

func address(page string) string {
	dir, _ := built() // pagesOf has built it
	return "file://" + filepath.ToSlash(filepath.Join(dir, page))
}

// walk presses the arrow keys, to the last step and back. It returns what is wrong, such as a step
// that looks different on the way back.
const walk = `(() => {
  const press = key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const look = () => [...document.querySelectorAll('main, .count, #said')].map(e => e.innerHTML.replaceAll(' class=""', '')).join();
  show(0);
  const there = [look()];
  for (let i = 1; i < steps.length; i++) { press('ArrowRight'); there.push(look()); }
  if (!document.getElementById('next').disabled) return 'the last step is not the end';
  for (let i = steps.length - 1; i >= 0; i--) {
    if (look() !== there[i]) return 'step ' + (i + 1) + ' looks different on the way back';
    press('ArrowLeft');
  }
  if (new Set(there).size !== there.length) return 'two steps look the same';
  return '';
})()`

// fit looks at a few steps, and says which one is wider than the window.
const fit = `(() => {
  for (let i = 0; i < steps.length; i += Math.ceil(steps.length / 4)) {
    show(i);
    if (document.documentElement.scrollWidth > innerWidth) return 'step ' + (i + 1) + ' is wider than the window: ' + document.documentElement.scrollWidth;
  }
  return '';
})()`

// Each page of a trace steps to its end and back, without a complaint of the browser, in a wide
// window and on a telephone.
func TestTracesStep(t *testing.T) {
	t.Parallel()
	pages := pagesOf(t)
	ctx, complaints := browser(t)
	for _, width := range []int64{390, 1280} {
		do(t, ctx, chromedp.EmulateViewport(width, 900))
		for i, page := range slices.Sorted(maps.Keys(pages)) {
			if !strings.Contains(pages[page], `id="wire"`) || width == 1280 && i%5 > 0 {
				continue // the script is the same at every width, so some pages are enough for the layout of a wide window
			}
			do(t, ctx, chromedp.Navigate(address(page)))
			wrong := get(t, ctx, chromedp.Evaluate[string](fit+" || "+walk))
			if said := complaints(); wrong != "" || len(said) > 0 {
				t.Errorf("%s, %d pixels: %s %q", page, width, wrong, said)
			}
		}
	}
}

// sight looks at every step after the first, which shows the top of the page: the last row of the
// wire that is reached, the first callback and what each of two clients does are in the window, and
// nothing covers them. On a telephone, the wire of two clients is below what they do.
const sight = `(() => {
  for (let i = 1; i < steps.length; i++) {
    show(i, true);
    const rows = data.sides && innerWidth < 800 ? [] : [[...document.querySelectorAll('#wire li:not(.future)')].at(-1)];
    for (const e of [...rows, ...document.querySelectorAll('#calls li:first-child, .acts li:first-child')]) {
      const box = e.getBoundingClientRect();
      if (box.height === 0) continue;
      for (const y of [box.top + 4, box.bottom - 4]) {
        if (!e.contains(document.elementFromPoint(box.left + box.width / 2, y))) return e.textContent + ' of step ' + (i + 1) + ' is out of sight';
      }
    }
  }
  return innerWidth > 820 && document.documentElement.scrollHeight > innerHeight ? 'the page scrolls, and not its columns' : '';
})()`

// What comes of a step is in sight, whatever the size of the window.
func TestOutcomeIsInSight(t *testing.T) {
	pagesOf(t)
	ctx, _ := browser(t)
	for _, size := range [][2]int64{{1280, 900}, {1280, 720}, {390, 844}} {
		do(t, ctx, chromedp.EmulateViewport(size[0], size[1]))
		for _, page := range []string{"testdata/incident-tombstone.html", "testdata/expired.html", "testdata/restored-backup-relist.html",
			"testdata/refetch-many.html", "docs/incidents/testdata/beside/3-too-large.html", "docs/incidents/testdata/beside/5-tombstone.html"} {
			do(t, ctx, chromedp.Navigate(address(page)))
			if wrong := get(t, ctx, chromedp.Evaluate[string](sight)); wrong != "" {
				t.Errorf("%s, %d×%d: %s", page, size[0], size[1], wrong)
			}
		}
	}
}

// No page is wider than its window, and the browser complains of none. The menu begins with the
// page to begin with, and on a wide window a line has about 75 characters.
func TestPagesFit(t *testing.T) {
	pages := pagesOf(t)
	ctx, complaints := browser(t)
	for _, width := range []int64{390, 1280} {
		do(t, ctx, chromedp.EmulateViewport(width, 900))
		for _, page := range slices.Sorted(maps.Keys(pages)) {
			if strings.Contains(pages[page], `id="wire"`) {
				continue
			}
			do(t, ctx, chromedp.Navigate(address(page)))
			wide := get(t, ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
			if said := complaints(); wide > width || len(said) > 0 {
				t.Errorf("%s is %d pixels wide in a window of %d: %q", page, wide, width, said)
			}
		}
	}
	do(t, ctx, chromedp.Navigate(address("docs/guides/handlers.html")))
	if first := get(t, ctx, chromedp.Text("#menu a")); first != "Getting started" {
		t.Errorf("the menu begins with %q", first)
	}
	line := get(t, ctx, chromedp.Evaluate[float64](`(() => {
  const p = [...document.querySelectorAll('main > p')].sort((a, b) => b.textContent.length - a.textContent.length)[0];
  return p.textContent.length / (p.offsetHeight / parseFloat(getComputedStyle(p).lineHeight));
})()`))
	if line < 60 || line > 85 {
		t.Errorf("a line has %.0f characters", line)
	}
}

// A word that is typed on the front page leads to the part of a page that is about it, by the keys
// alone.
func TestSearch(t *testing.T) {
	pagesOf(t)
	ctx, complaints := browser(t)
	do(t, ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(address("index.html")),
		chromedp.KeyEvent("/"), chromedp.KeyEvent("tombstone"+kb.Enter), chromedp.WaitVisible("#results a"), chromedp.KeyEvent(kb.Enter))
	if first := get(t, ctx, chromedp.Evaluate[string]("document.activeElement.textContent")); !strings.HasSuffix(first, "› Tombstones") {
		t.Errorf("the first result is %q", first)
	}
	do(t, ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("h2#tombstones"))
	if at := get(t, ctx, chromedp.Location()); !strings.HasSuffix(at, "docs/list-and-watch.html#tombstones") {
		t.Errorf("the first result leads to %s", at)
	}
	do(t, ctx, chromedp.Navigate(address("search.html?q=nowhere-to-be-found")))
	if found := get(t, ctx, chromedp.Text("#found")); found != "0 places: look at the map of all pages" {
		t.Errorf("a word that is nowhere is found: %q", found)
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// The button beside a piece of code copies it.
func TestCopy(t *testing.T) {
	pagesOf(t)
	ctx, _ := browser(t)
	do(t, ctx, chromedp.Navigate(address("docs/guides/handlers.html")),
		chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, protocol.SetPermission, protocol.SetPermissionParams{
				Permission: &protocol.PermissionDescriptor{Name: "clipboard-read"}, Setting: "granted",
			})
			return err
		}), chromedp.Click(".copy"), chromedp.Poll[chromedp.Void](`document.querySelector('.copy').textContent === 'Copied'`))
	want := get(t, ctx, chromedp.Evaluate[string](`document.querySelector('pre').textContent`))
	if got := get(t, ctx, chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise)); got != want || got == "" {
		t.Errorf("copied %q of %q", got, want)
	}
}

// The front page has a trace in it, and is light with all that it loads.
func TestFrontPageIsLight(t *testing.T) {
	pagesOf(t)
	loaded := make(chan string, 100)
	ctx, _ := browser(t, func(event any) {
		if request, ok := event.(*network.EventRequestWillBeSent); ok {
			loaded <- request.Request.URL
		}
	})
	do(t, ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{})
		return err
	}), chromedp.Navigate(address("index.html")), chromedp.Evaluate[chromedp.Void](`document.querySelector('iframe').scrollIntoView()`))
	size, sizes := int64(0), map[string]int64{}
	for last := ""; !strings.HasSuffix(last, "/incident-tombstone.html"); {
		select {
		case last = <-loaded:
		case <-time.After(time.Minute):
			t.Fatalf("no trace is loaded, only %v", sizes)
		}
		info, err := os.Stat(strings.TrimPrefix(last, "file://"))
		must.OK(t, err)
		sizes[last], size = info.Size(), size+info.Size()
	}
	if size > 300_000 || len(sizes) < 5 {
		t.Errorf("the front page has %d bytes: %v", size, sizes)
	}
}

// Keys and buttons go to the same steps, and the state of a step does not depend on how one got
// there.
func TestKeysAndButtons(t *testing.T) {
	pagesOf(t)
	ctx, complaints := browser(t)
	do(t, ctx, chromedp.Navigate(address("testdata/expired.html")))
	for _, step := range []struct {
		action chromedp.Action[chromedp.Void]
		want   string
	}{
		{chromedp.KeyEvent(kb.ArrowRight), "2 / 26"},
		{chromedp.Click("#next"), "3 / 26"},
		{chromedp.KeyEvent(kb.End), "26 / 26"},
		{chromedp.KeyEvent(kb.Home), "1 / 26"},
		{chromedp.Evaluate[chromedp.Void](`document.querySelector("#wire li.fault button").click()`), "11 / 26"},
	} {
		do(t, ctx, step.action)
		if got := get(t, ctx, chromedp.Text("#count")); got != step.want {
			t.Errorf("step %q, want %q", got, step.want)
		}
	}
	if phase := get(t, ctx, chromedp.AttributeValue(".states g.lit", "data-phase")); phase.Value != "opening" {
		t.Errorf("the phase %q is lit after the connection was cut", phase.Value)
	}
	do(t, ctx, chromedp.Navigate(address("traces.html")), chromedp.SendKeys("#filter", "incident idle"))
	if found := get(t, ctx, chromedp.Text("#found")); found != "6 traces" {
		t.Errorf("the filter finds %q", found)
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// check has axe-core look at a page, and returns what it finds.
const check = `axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html + ' ' + n.any.map(a => a.message).join()).join(' | ')))`

// axe-core finds nothing serious in pages of each kind, on light and on dark ground.
func TestAccessible(t *testing.T) {
	t.Parallel()
	pagesOf(t)
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("there is no axe-core: run npm ci in test/tools/site: %v", err)
	}
	ctx, _ := browser(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, page := range []string{
			"testdata/expired.html#14", "testdata/incident-too-large.html#6", "testdata/incident-tombstone.html#99", "testdata/refetch-many.html#5",
			"testdata/websocket-expired.html", "testdata/retrywatcher/retry-after.html#3", "docs/incidents/testdata/idle.html#4",
			"docs/incidents/testdata/beside/1-idle-websocket.html#14", "docs/incidents/testdata/beside/3-too-large.html#10",
			"traces.html", "index.html", "search.html?q=tombstone", "docs/guides/handlers.html", "docs/index.html", "docs/list-and-watch.html", "docs/states.html", "docs/incidents/4-idle-resource.html",
		} {
			for _, width := range []int64{1280, 390} {
				media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
				do(t, ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
					_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, media)
					return err
				}), chromedp.EmulateViewport(width, 900), chromedp.Navigate("about:blank"), chromedp.Navigate(address(page)))
				do(t, ctx, chromedp.Evaluate[chromedp.Void](string(axe)+";0"))
				found := get(t, ctx, chromedp.Evaluate[[]string](check, chromedp.EvalAwaitPromise))
				for _, violation := range found {
					t.Errorf("%s, %s, %d pixels: %s", page, scheme, width, violation)
				}
			}
		}
	}
}
