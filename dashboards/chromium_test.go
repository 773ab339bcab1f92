//go:build integration

package dashboards

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/await"
)

// chromium is a headless browser that all tests share, driven by its DevTools
// protocol over pipes: JSON messages, each ended by a zero byte. (An open event
// stream keeps --virtual-time-budget from ever ending.)
type chromium struct {
	to   *os.File
	from *bufio.Reader
	id   int
}

// sharedChromium is started once, as that takes longer than most tests. It cannot
// resolve any host but this one: the page must work without others.
var sharedChromium = sync.OnceValues(func() (*chromium, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("%w; install it with: make deps-test", err)
	}
	dir, err := os.MkdirTemp("", "dashboards-chromium-")
	if err != nil {
		return nil, err
	}
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir="+dir, "--window-size=1440,900", "--remote-debugging-pipe",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4, as the protocol requires
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	toRead.Close()
	fromWrite.Close()
	whenAllEnd(func() {
		toWrite.Close() // it exits when its pipe is closed
		_ = cmd.Wait()
		fromRead.Close()
		_ = os.RemoveAll(dir)
	})
	return &chromium{to: toWrite, from: bufio.NewReader(fromRead)}, nil
})

// tab is a page in a browser context of its own, which shares neither storage nor sessions with others.
type tab struct {
	t       testing.TB
	browser *chromium
	session string
	errors  []string // that the page wrote to its console
}

// browse opens a page.
func browse(t testing.TB, url string) *tab {
	t.Helper()
	c, err := sharedChromium()
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{t: t, browser: c}
	var profile struct{ BrowserContextID string }
	p.call("Target.createBrowserContext", nil, &profile)
	t.Cleanup(func() {
		for _, e := range p.errors {
			t.Errorf("on the console: %s", e)
		}
		p.t, p.session = t, ""
		p.call("Target.disposeBrowserContext", map[string]any{"browserContextId": profile.BrowserContextID}, nil)
	})
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": profile.BrowserContextID}, &target)
	var attached struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	p.call("Runtime.enable", nil, nil)
	p.call("Log.enable", nil, nil)
	p.resize(windowWidth, windowHeight)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	return p
}

func (p *tab) send(method string, params map[string]any) {
	p.browser.id++
	message := map[string]any{"id": p.browser.id, "method": method, "params": params}
	if p.session != "" {
		message["sessionId"] = p.session
	}
	line, err := json.Marshal(message)
	if err == nil {
		_, err = p.browser.to.Write(append(line, 0))
	}
	if err != nil {
		p.t.Errorf("%s: %v", method, err)
	}
}

func (p *tab) resize(width, height int) {
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// note keeps an event if it reports an error on the page.
func (p *tab) note(method string, params json.RawMessage) {
	var event struct {
		Type             string
		Entry            struct{ Level, Text, URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Args []struct{ Value, Description any }
	}
	if json.Unmarshal(params, &event) != nil {
		return
	}
	switch {
	case method == "Runtime.exceptionThrown":
		p.errors = append(p.errors, event.ExceptionDetails.Text+" "+event.ExceptionDetails.Exception.Description)
	case method == "Log.entryAdded" && event.Entry.Level == "error":
		p.errors = append(p.errors, event.Entry.Text+" "+event.Entry.URL)
	case method == "Runtime.consoleAPICalled" && event.Type == "error":
		p.errors = append(p.errors, fmt.Sprint(event.Args))
	}
}

// call waits for the answer and notes the events before it.
func (p *tab) call(method string, params map[string]any, result any) {
	p.t.Helper()
	p.send(method, params)
	for {
		line, err := p.browser.from.ReadBytes(0)
		if err != nil {
			p.t.Fatalf("%s: chromium has ended: %v", method, err)
		}
		var answer struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			Result    json.RawMessage
			Error     *struct{ Message string }
		}
		if err := json.Unmarshal(line[:len(line)-1], &answer); err != nil {
			p.t.Fatal(err)
		}
		switch {
		case answer.ID != p.browser.id:
			if answer.SessionID == p.session {
				p.note(answer.Method, answer.Params)
			}
			continue
		case answer.Error != nil:
			p.t.Fatalf("%s: %s", method, answer.Error.Message)
		case result != nil:
			if err := json.Unmarshal(answer.Result, result); err != nil {
				p.t.Fatal(err)
			}
		}
		return
	}
}

// eval evaluates a JavaScript expression and returns its value as text.
func (p *tab) eval(expression string) string {
	p.t.Helper()
	var out struct{ Result struct{ Value any } }
	p.call("Runtime.evaluate", map[string]any{"expression": expression}, &out)
	return fmt.Sprint(out.Result.Value)
}

// await waits until a JavaScript expression is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	if !await.Holds(time.Minute, 20*time.Millisecond, func() bool { return p.eval(expression) == "true" }) {
		p.t.Fatalf("the page never gets to %s; it says: %s", expression, p.eval("document.body.innerText"))
	}
}

// visit goes to another address.
func (p *tab) visit(url string) {
	p.t.Helper()
	p.eval(`document.documentElement.dataset.left = "1"`)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	p.await(`document.documentElement.dataset.left === undefined && document.getElementById("status") !== null`)
}

// heap returns how many bytes of JavaScript's heap are in use after a garbage collection.
func (p *tab) heap() float64 {
	p.t.Helper()
	p.call("HeapProfiler.collectGarbage", nil, nil)
	var usage struct{ UsedSize float64 }
	p.call("Runtime.getHeapUsage", nil, &usage)
	return usage.UsedSize
}

// press presses a key.
func (p *tab) press(key string, code int) {
	p.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// move moves the mouse to a point of the page.
func (p *tab) move(x, y int) {
	p.t.Helper()
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
}

// screenshot returns the page as a PNG.
func (p *tab) screenshot() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}
