"""Fixed texts and the fingerprints they must have for ever, on every Python, numpy and machine.

A change here is a change of `PROFILE`: every index in the world would have to be made anew.
`python -m tests.fingerprinting.golden` prints the table with what is computed now.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from crawldedup.fingerprinting.bits import Fingerprint, fingerprint


class Golden(NamedTuple):
    search: str
    verify: str
    weights: str
    words: int


def golden_of(page: Fingerprint) -> Golden:
    weights = (
        page.search_weights.astype("<f4").tobytes() + page.verify_weights.astype("<f4").tobytes()
    )
    return Golden(
        f"{page.search:016x}",
        page.verify.hex(),
        hashlib.sha256(weights).hexdigest()[:16],
        page.words,
    )


TEXTS = {
    "english": (
        "The harbour of the old town freezes over in most winters, and then the ferries stop. "
        "Nobody minds: "
        "the ice is thick enough for carts by January, and the road across it is shorter than the "
        "one by sea. "
        "In the spring of 1908 the ice broke a week early, and three carts had to be left where "
        "they stood."
    ),
    "german": (
        "Die Straße über den Paß bleibt im Winter geschlossen; wer trotzdem hinauf will, geht zu "
        "Fuß. Oben steht "
        "eine Hütte mit zwölf Plätzen, einem Ofen und einem Buch, in das sich seit 1931 jeder Gast "
        "einträgt. "
        "Das Buch ist übrigens das dritte: die ersten zwei hat der Schnee ge\xadnom\xadmen."
    ),
    "french": (
        "L’été, la rivière s’arrête à mi‑chemin de la mer. On traverse à pied jusqu’à l’île, où "
        "trois familles "
        "élèvent encore des chèvres ; l’hiver, le même trajet demande une barque, deux rameurs et "
        "de la patience."
    ),
    "vietnamese": (
        "Mỗi buổi sáng, chợ nổi họp trên sông từ lúc trời còn tối. Thuyền lớn chở dưa hấu, bí và "
        "khoai; thuyền nhỏ "
        "len giữa chúng bán cà phê và bún. Đến chín giờ thì chợ tan, mặt sông lại vắng như chưa "
        "từng có ai."
    ),
    "russian": (
        "Маяк построили за одно лето из камня, который возили с другого берега. Ёлки вокруг него "
        "посадил третий "
        "смотритель: он говорил, что без деревьев ветер не слышно. Теперь их видно раньше, чем сам "
        "маяк."
    ),
    "greek": (
        "Ο μύλος στην άκρη του χωριού άλεθε ως το 1962. Έπειτα έφεραν το ρεύμα και ο δρόμος "
        "πλάτυνε· ο μύλος έμεινε "
        "με τα φτερά του δεμένα, και τα παιδιά έλεγαν πως κοιμάται όρθιος σαν τα άλογα."
    ),
    "arabic": (
        "كانَ البئرُ في وسطِ السوقِ أقدمَ من السوقِ نفسه. يقول التجار إن الماء فيه لا ينقص صيفا "
        "ولا شتاء، وإن "
        "من يشرب منه مرة يعود إلى المدينة ولو بعد أربعين سنة."
    ),
    "hindi": (
        "पहाड़ी रेलगाड़ी दिन में केवल दो बार चलती है। सुबह वह दूध और अख़बार लाती है, शाम को स्कूल "
        "के बच्चों को वापस "
        "ले जाती है। बरसात में कभी-कभी पटरी पर मिट्टी आ जाती है और सब लोग उतरकर चाय पीते हैं।"
    ),
    "thai": "ตลาดเช้าริมแม่น้ำเปิดก่อนพระอาทิตย์ขึ้น คนขายปลามาถึงก่อน แล้วจึงเป็นคนขายผักและดอกไม้ พอสายหน่อยก็เหลือแต่แมวกับกลิ่นกาแฟ",
    "khmer": "ផ្សារព្រឹកនៅមាត់ទន្លេបើកមុនថ្ងៃរះ អ្នកលក់ត្រីមកដល់មុនគេ បន្ទាប់មកអ្នកលក់បន្លែ និងផ្កា។",
    "japanese": (
        "古い橋は三年に一度、冬のあいだに架けかえられる。ナイフのように薄い板を百二十枚、釘を使わずに組むのだという。"
        "昔はﾄﾗｯｸもなく、木は川を流れてきた。橋守りの田中さんは「水の音で、橋の年がわかる」と話す。"
    ),
    "chinese": (
        "城北的老茶馆每天清晨四点开门。最早来的是菜农，他们把担子放在门外，要一壶三块钱的红茶，坐到天亮。"
        "茶馆的主人已经八十岁了，他说自己没有离开过这条街，可是全城的消息他都知道。"
    ),
    "korean": (
        "산골 우체국에는 직원이 한 사람뿐이다. 아침에는 편지를 나누고, 낮에는 창구를 지키고, 저녁에는 난로에 "
        "장작을 넣는다. 눈이 많이 오는 날에는 마을 사람들이 우체국까지 길을 내 준다."
    ),
    "mixed": (
        "Python 3.11 で unicodedata は Unicode 14 です 😀 — naïve café, ½ ﬁsh, ＡＢＣ①②③, "
        "foo_bar(x²) → https://example.org/a?b=c&d=1 ; 漢字かな交じり and mail@example.org №5 ™"
    ),
    "repeated": "to be or not to be that is the question " * 40,
    "eight": "one two three four five six seven eight",
}

# Name, words, search bits, digest of the weights, verify bits.
_TABLE = """
english     60 023c4d65f8d01186 cd2cfdfe7a32b0ad c0150f5a50905edf41f5f990537e66987e1794bb19decb8c7728df46aafb24bf
german      49 0a712c7e6c3e40a8 e6acd09db4049d05 0e93d1409844e114c3ef0a436adc1fcc138840eead2f906385a590b3ce66d43a
french      41 7cd2d85ba556ed89 4d5ef143af48aac0 582b03cd21391aabae3c108844ff8bc678e32a7cf8048e87a1d87bf857d39814
vietnamese  46 5d15a48a4f504a0f 0f20408d48b8e2ed efaf99aa5226ccee0e84e25d0019e39a691f3ee04d9ad012f677cdd63389ff17
russian     33 a71ffbd10df4bdee efa39729603ad0c0 70e3f53efb87605cfb989229916068bde81ff171b98cda543d66a48eb5edd765
greek       36 00f9f0c8a8774ca9 6b3589e49f519ae2 907138dc4e9e506deafa9eaf82f4a9dfca17f5ebff5e5c2fcdb3a5fbcddffa37
arabic      31 a0032532baf4ccb2 b1dcb889da8b8faa 42feefc2a208c35725990bd37aff78da0819ad54cedbce101f8cd35ed7d52c01
hindi       43 0e13a5d8e49330ec 07f6bf57064360cb 8b273b4e7f8b12c725ea3c695ee7325a61cbe3725ac44e2996e9848f00f245ac
thai        95 500208bee411a0ef d9b62bf6be388df8 dff17c936cbb0d4bbe4fede8f672df59c8bc8c897da2c418d0d19a9fdb361e6a
khmer       51 a6730f197d34cb4e 74cc062438cbdd09 a996c937ead1c001465aa34f55fc03f862d676fcc555cf5836fa4923d26946f6
japanese    91 917e389c7498e421 dfe6e496571f76b7 e73f703233191b34f5478ad2f68dd85a720c2f747a00d8218be0115d52863f21
chinese     77 2d7557ab3c499ae0 37160e9581e3803b eefe603afc666cd0308179ec0a733beda63028c5f9143194692ceb504c09b008
korean      25 7c839f092bc65fec 9c55880a9c0ade56 278b82594f9d488f1dba6bd24d2cf038ff702bae96e092334da4845d3262934c
mixed       39 397c8a0dce1dd045 8d3ef691df2d817c 042cc6108f4dd8218352b8f9144d8d741693b4aa91b9e9a4abd85dae1672fbd2
repeated   400 c20c9765b9581900 a453841a2b261fcc 1bd1ea9f71bfff26d6ab59f1011b67ef7fd6c2fa5adcd573f35365caaf7f7d96
eight        8 f2e64206eae1063f 3df762f720b46beb ef5573f99ec751beea7b7fe7b7e6f999dffecbacd7f9571ab2fe87b2d5f7767e
"""
GOLDEN = {
    name: Golden(search, verify, weights, int(words))
    for name, words, search, weights, verify in map(str.split, _TABLE.strip().splitlines())
}


if __name__ == "__main__":
    for name, text in TEXTS.items():
        golden = golden_of(fingerprint(text, min_words=8))
        print(name, golden.words, golden.search, golden.weights, golden.verify)
