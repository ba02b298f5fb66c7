import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "./style.css";
import { TablesPage } from "./tables-page";
import { say, type Language } from "./text";

// What the reader chose by the button before, else the browser's own.
function firstLanguage(): Language {
  const chosen = localStorage.getItem("language") ?? navigator.language;
  return chosen.startsWith("zh") ? "zh" : "en";
}

function App() {
  const [language, setLanguage] = useState<Language>(firstLanguage);
  useEffect(() => {
    localStorage.setItem("language", language);
    document.documentElement.lang = language;
  }, [language]);
  return (
    <>
      <header>
        <h1>
          Sluice <span>{say(language, "title")}</span>
        </h1>
        <button type="button" onClick={() => setLanguage(language === "zh" ? "en" : "zh")}>
          {say(language, "switch")}
        </button>
      </header>
      <TablesPage language={language} />
    </>
  );
}

render(<App />, document.getElementById("app")!);
