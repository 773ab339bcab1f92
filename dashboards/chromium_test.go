//go:build integration

package dashboards

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// tab is a page in a new headless Chromium, driven over the pipes of its
// DevTools protocol: a JSON message each, ended by a zero byte. (An open event
// stream keeps --virtual-time-budget from ever ending.)
type tab struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	id      int
}

// browse starts Chromium on a page. Every host but this one is unknown to it: the
// page must work where there is no way out.
func browse(t *testing.T, url string) *tab {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v; install it with: make deps-test", err)
	}
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir="+t.TempDir(), "--window-size=1440,900", "--remote-debugging-pipe",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4, as the protocol wants
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	p := &tab{t: t, to: toWrite, from: bufio.NewReader(fromRead)}
	t.Cleanup(func() {
		p.session = ""
		p.send("Browser.close", nil)
		_ = cmd.Wait()
		stop()
		toWrite.Close()
		fromRead.Close()
	})
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": windowWidth, "height": windowHeight, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	return p
}

func (p *tab) send(method string, params map[string]any) {
	p.id++
	message := map[string]any{"id": p.id, "method": method, "params": params}
	if p.session != "" {
		message["sessionId"] = p.session
	}
	line, err := json.Marshal(message)
	if err == nil {
		_, err = p.to.Write(append(line, 0))
	}
	if err != nil {
		p.t.Errorf("%s: %v", method, err)
	}
}

// call waits for the answer and passes over events.
func (p *tab) call(method string, params map[string]any, result any) {
	p.t.Helper()
	p.send(method, params)
	for {
		line, err := p.from.ReadBytes(0)
		if err != nil {
			p.t.Fatalf("%s: chromium has ended: %v", method, err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line[:len(line)-1], &answer); err != nil {
			p.t.Fatal(err)
		}
		switch {
		case answer.ID != p.id:
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

// eval is the text of a JavaScript expression.
func (p *tab) eval(expression string) string {
	p.t.Helper()
	var out struct{ Result struct{ Value any } }
	p.call("Runtime.evaluate", map[string]any{"expression": expression}, &out)
	return fmt.Sprint(out.Result.Value)
}

// await waits until a JavaScript expression is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); p.eval(expression) != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the page never gets to %s; it says: %s", expression, p.eval("document.body.innerText"))
		}
	}
}

// press presses a key.
func (p *tab) press(key string, code int) {
	p.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// move puts the mouse on a point of the page.
func (p *tab) move(x, y int) {
	p.t.Helper()
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
}

// screenshot is the page as a PNG.
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
