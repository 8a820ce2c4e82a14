"""The words by which shells (pages that a script has yet to fill) are recognized.

They are names of elements and scripts, notices and requests in many languages. A shell whose words
are missing here is checked like any other page.
"""

import re
from typing import Final

from crawldedup.reading.blocks import tags

OF_OTHERS: Final = re.compile(
    r"googletagmanager|google-analytics|/gtag/|/gtm\.|googlesyndication|doubleclick|adsbygoogle|"
    r"analytics|matomo|piwik|plausible|hotjar|clarity\.ms|cloudflareinsights|facebook|fbevents|"
    r"captcha|turnstile|challenge-platform|_incapsula_|cookie|consent|onetrust|didomi|"
    r"usercentrics|sentry|newrelic|nr-data|segment\.(?:com|io)|mixpanel|amplitude|hubspot|"
    r"intercom|zendesk|tawk|livechat|taboola|outbrain|criteo|disqus|addthis|sharethis",
    re.IGNORECASE,
)
"""Matches the addresses of scripts that never fill pages, such as those for statistics."""

SPLASH: Final = re.compile(
    r"(?:^|[\s_-])(?:splash\w*|(?:pre|app|page)?-?load(?:er|ing)|spinner|skeleton|shimmer|"
    r"progress(?:bar)?|startup|launch-?screen)(?:$|[\s_-])",
    re.IGNORECASE,
)
EXCUSE: Final = re.compile(
    r"(?:^|[\s_-])(?:error-?ui|no-?js|noscript|unsupported|outdated|browser-?(?:upgrade|happy|"
    r"warning)|old-?browsers?|ie-?(?:warning|message))(?:$|[\s_-])",
    re.IGNORECASE,
)
AROUND: Final = re.compile(
    r"(?:^|\s|(?<!\bhas)(?<!\bwith)(?<!\bno)(?<!\bwithout)[_-])(?:cookies?\w*|consent|gdpr|ccpa|"
    r"onetrust|usercentrics|didomi|banner|nav|navbar|navigation|(?:main|side|mobile|user)-?menu|"
    r"(?:site|main|app|global)-?header|(?:site|page|main|app|global)-?footer|footer|top-?bar|"
    r"toolbar|skip-?(?:link|nav|to-?\w+)|sr-only|screen-?reader\w*|visually-?hidden|newsletter|"
    r"modal|popup|copyright)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Matches the names of elements that are around the content on each page of a site."""
SLOT: Final = re.compile(
    r"(?:^|[\s_-])(?:comments?\w*|disqus\w*|(?:google-?)?maps?|map-?(?:canvas|box)|gpt|ads?|"
    r"ad-?(?:slot|container|unit|place\w*)|adverts?|advertisements?|sponsor\w*|widgets?|island|chat\w*|"
    r"share|social|related|recommend\w*|reviews?|captcha|recaptcha|portals?|overlay|backdrop|toasts?|"
    r"tooltips?|notifications?|alerts?|errors?|messages?|lightbox|player|back-?to-?top|clear(?:fix)?|"
    r"spacer)(?:$|[\s_-])|^(?:adsbygoogle|dsq-)|captcha",
    re.IGNORECASE,
)
"""Matches the names of elements that are often empty on pages with content."""
CHOICES: Final = tags("checkbox radio submit button reset image")
FAILED: Final = re.compile(
    r"\b(?:40[0-9]|410|429|50[0-4])\b|not found|error|denied|forbidden|unavailable|expired|"
    r"no results|blocked|maintenance|fehler|nicht gefunden|introuvable|erreur|no encontrad|"
    r"non trovat|não encontrad|не найден|ошибка|エラー|見つかりません|未找到|错误",
    re.IGNORECASE,
)
"""Matches the titles of error pages, which don't name the site."""
LOADING: Final = re.compile(
    r"loading|initiali[sz]ing|starting up|(?:wird |werden )?geladen|lädt|chargement(?: en cours)?|"
    r"cargando|caricamento(?: in corso)?|carregando|a carregar|bezig met laden|laddar|laster inn|"
    r"indlæser|ladataan|ładowanie|wczytywanie|načít[áa](?:ní|m)?|betöltés|se încarcă|"
    r"(?:идёт |идет )?загрузка|завантаження|зареждане|φόρτωση|yükleniyor|đang tải|memuat|"
    r"กำลังโหลด|正在加载|加载中?|載入中|载入中|読み込み中?(?:です)?|ロード中|로딩 ?중?|로드 중|"
    r"불러오는 중|جار[يٍ]? ?التحميل|تحميل|در حال بارگذاری|טוען|लोड हो रहा है",
    re.IGNORECASE,
)
WAIT: Final = re.compile(
    r"please wait|one moment|just a (?:moment|sec(?:ond)?)\b|hang (?:on|tight)|bitte warten|"
    r"veuillez patienter|por favor,? espere|attendere|aguarde|even geduld|vänta|vent venligst|"
    r"proszę czekać|čekejte|подождите|зачекайте|lütfen bekleyin|vui lòng|请稍|請稍|お待ちください|"
    r"잠시만|يرجى الانتظار|لطفا صبر|אנא המתן|प्रतीक्षा",
    re.IGNORECASE,
)
WHAT_LOADS: Final = tags("the app application page content data site website game")
SCRIPTS: Final = re.compile(
    r"java\s?-?script|\bjs\b|\bscript(?:s|ing)?\b|(?:ява|джава)\s?-?скрипт|скрипт|자바\s?스크립트|"
    r"ジャバスクリプト|जावा?\s?स्क्रिप्ट|जाव्हास्क्रिप्ट|জাভাস্ক্রিপ্ট|ஜாவாஸ்கிரிப்ட்|"
    r"جافا\s?سكر[يی]بت|جاوا\s?[اإ]سکر[یي]پت|ג'?אווה\s?-?סקריפט|จาวาสคริปต์|脚本|腳本|スクリプト",
    re.IGNORECASE,
)
ENABLE: Final = re.compile(
    r"enabl|turn(?:ed)? on|switch(?:ed)? on|requir|need|must|without|disabled|support|browser|"
    r"a[ck]tiv|anschalten|einschalten|benötigt|ohne|nécess|sans|navigateur|habilit|necesit|"
    r"navegador|sin |abilit|richie|senza|precisa|inschakel|nodig|krävs|slå på|kræve|käyttö|włącz|"
    r"wymaga|povol|zapn|engedélyez|включ|нужен|требу|увімкн|ενεργοποι|etkin|gerek|bật |aktif|"
    r"有効|必要|启用|啟用|开启|需要|활성|사용|필요|تفعيل|تمكين|يتطلب|فعال|הפעל|सक्षम|चालू|เปิด",
    re.IGNORECASE,
)
RIGHTS: Final = re.compile(r"^(?:©|\(c\)\s|copyright\b)", re.IGNORECASE)
TRACKER_ID: Final = re.compile(r"(?:gtm|ua|g|aw|dc)-[\w-]+", re.IGNORECASE)
